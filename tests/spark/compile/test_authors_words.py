"""What runs are the author's words: read as Spark reads them, and never written anew."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp
from tests.spark.compile.logs import MemoryLog, Row, counted, results
from tests.spark.compile.test_functions import CALLS, COLUMNS, ROWS, T, planned

from headgate.model import HeadgateError
from headgate.plan.sql.functions import accepted, aggregates
from headgate.plan.sql.parse import expression
from headgate.plan.sql.rewriting import with_columns
from headgate.plan.sql.vocabulary import RightShift, UnsignedRightShift
from headgate.plan.sql.words import put, raw, span_of, written
from headgate.spark.compile.prepared_query import prepare_query
from headgate.spark.compile.schemas import arrow_schema

BINARY = [*"+-*/%&|^", "DIV", "||", "<<", ">>", ">>>", "=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">=", "AND", "OR"]
BINARY += ["LIKE", "NOT LIKE", "RLIKE", "ILIKE", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
BEFORE = ["-", "+", "~", "NOT ", "! "]
BEHIND = [
    " IS NULL",
    " IS NOT TRUE",
    "::string",
    ".x",
    "[0]",
    " COLLATE UTF8_LCASE",
    " IN (1, 2)",
    " NOT BETWEEN 1 AND 2",
]


class Parser:
    """Spark's own parser of expressions."""

    def __init__(self, spark: SparkSession) -> None:
        session: Any = spark
        self.parse: Any = session._jsparkSession.sessionState().sqlParser().parseExpression

    def tree(self, text: str) -> Any:
        """The tree of a text; None if there is none."""
        try:
            return self.parse(text)
        except PySparkException:
            return None


@pytest.fixture(scope="module")
def parser(spark: SparkSession) -> Parser:
    return Parser(spark)


def parenthesised(node: exp.Expr) -> str:
    """An expression with parentheses around every operand, after our tree of it."""
    for child in list(_operands(node)):
        put(child, raw(f"({parenthesised(child)})"))
    if isinstance(node, RightShift):  # runs as a function, which groups nothing
        sign = ">>>" if isinstance(node, UnsignedRightShift) else ">>"
        return f"{written(node.this)} {sign} {written(node.expression)}"
    return written(node)


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    for child in node.iter_expressions():
        if span_of(child) is None or isinstance(child, TRANSPARENT) or isinstance(node, exp.Escape):
            yield from _operands(child)
        elif isinstance(child, exp.Unary | exp.Binary | exp.Between | exp.In | exp.Cast):
            yield child


# What is no operand itself: names, and what stands before ESCAPE, which is one rule with it. What a NOT in its middle
# negates has no span.
TRANSPARENT = (exp.Dot, exp.Kwarg, exp.Escape, exp.Alias)


def read(text: str) -> exp.Expr | None:
    try:
        return expression(text)
    except Exception:
        return None


def differences(parser: Parser, texts: Sequence[str]) -> list[str]:
    """Texts that Spark reads, and we read in another way."""
    found = []
    for text in texts:
        ours, theirs = read(text), parser.tree(text)
        if ours is not None and theirs is not None:
            again = parser.tree(parenthesised(ours))
            if again is None or not theirs.equals(again):
                found.append(text)
    return found


def test_pairs_and_triples_of_operators_are_grouped_as_spark_groups_them(parser: Parser) -> None:
    pairs = [f"a {one} b {two} c" for one, two in product(BINARY, BINARY)]
    around = [f"{sign}a {one} b{behind}" for sign, one, behind in product(["", *BEFORE], BINARY, ["", *BEHIND])]
    around += [f"a {one} {sign}b {two} c" for one, sign, two in product(BINARY[:14], BEFORE, BINARY[:14])]
    few = ["+", "*", "&", "|", "<<", "=", "AND", "OR", "LIKE"]
    chains = [("AND",) * 3, ("OR",) * 3]  # of which Spark's parser makes balanced trees
    triples = [f"a {own[0]} b {own[1]} c {own[2]} d" for own in product(few, few, few) if own not in chains]
    texts = [*pairs, *around, *triples]
    assert differences(parser, texts) == []
    unread = [text for text in texts if read(text) is None and parser.tree(text) is not None]
    assert unread == []


def test_a_shift_to_the_right_runs_behind_whatever_other_expressions(spark: SparkSession) -> None:
    """Behind ARRAY, MAP and STRUCT Spark's own lexer would take it for the end of a type."""
    shifts = ["i >> 1", "l >>> 2", "i >> 1 >>> 1", "-i >> 1 << 2", "i & 3 >> 1"]
    texts = [f"{text} = size(array(i, 10 / (i - 4) * 0))" for text in shifts]
    prepared = prepare_query(
        spark, planned(f"SELECT {', '.join(shifts)} FROM t WHERE {' OR '.join(texts)} OR i > 0"), {"t": T}, {}
    )
    found = sum(results(prepared, {"t": MemoryLog(arrow_schema(T), ROWS)}, []), Counter[Row]())
    alone = [
        spark.sql(f"SELECT {', '.join(shifts)} FROM (SELECT int({i}) AS i, {number}L AS l)") for i, number in SHIFTED
    ]
    assert found == sum((counted(frame.toArrow()) for frame in alone), Counter[Row]())


SHIFTED = [(row[0], row[1]) for row in ROWS if row[0] != 4]  # on 4 it fails

FIELDS = {
    "to_json(struct(I, S))": '{"I":3,"S":"Spark"}',
    "to_json(struct(i, s))": '{"i":3,"s":"Spark"}',
    "to_json(struct(P.X, t.I))": '{"X":3,"I":3}',
    "to_json((I, `S`))": '{"I":3,"S":"Spark"}',
    "to_json(arrays_zip(W))": '[{"W":"x"},{"W":"y"}]',
    "to_json(arrays_zip(w))": '[{"w":"x"},{"w":"y"}]',
    "to_json(struct(I AS j))": '{"j":3}',
}


def test_fields_have_the_letters_of_their_author(spark: SparkSession) -> None:
    """Also where another query has the same expression with other letters: they are not the same expression."""
    calls = ", ".join(f"{text} AS c{place}" for place, text in enumerate(FIELDS))
    prepared = prepare_query(spark, planned(f"SELECT {calls} FROM t"), {"t": T}, {})
    found = results(prepared, {"t": MemoryLog(arrow_schema(T), ROWS[:1])}, [])
    assert sum(found, Counter[Row]()) == Counter([tuple(FIELDS.values())])
    forms = {planned(f"SELECT {text} AS c FROM t").columns[0].expression for text in FIELDS}  # type: ignore[attr-defined]
    assert len(forms) == len(FIELDS)


OF_ROWS = re.compile(r"\b(FROM|WHERE)\s+\(?(VALUES|SELECT|range|explode)|\n", re.IGNORECASE)


def examples(spark: SparkSession) -> list[str]:
    """The examples of Spark's own documentation of its functions, as expressions."""
    found = []
    for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        name = row[0].rpartition(".")[2]
        if not name.isidentifier():
            continue
        told = "\n".join(line[0] for line in spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect())
        written_out = re.findall(r"> SELECT (.*?);\s*$", told, re.MULTILINE | re.DOTALL)
        found += [text.strip() for text in written_out if not OF_ROWS.search(text)]
    return found


def test_examples_of_spark_are_read_as_spark_reads_them(spark: SparkSession, parser: Parser) -> None:
    texts = examples(spark)
    assert len(texts) > 400
    assert differences(parser, texts) == []
    plain = [text for text in texts if ">>" not in text]
    changed = [text for text in plain if (tree := read(text)) is not None and _bare(written(tree)) != _bare(text)]
    assert changed == []


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", text)


class Trial:
    """Expressions over the rows of the test of functions, computed by runs and by one batch."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.log = MemoryLog(arrow_schema(T), ROWS)
        spark.createDataFrame(self.log.table.drop_columns(["_offset", "_arrival"])).createOrReplaceTempView("t")
        self.compared = self.refused = 0

    def compare(self, texts: Sequence[str], grouped: bool = False) -> list[str]:
        """Those with other results, or that fail only here; halved until they are alone."""
        calls = ", ".join(f"{text} AS c{place}" for place, text in enumerate(texts))
        sql = f"SELECT {calls} FROM t" + (" GROUP BY window(ts, '1 hour')" if grouped else "")
        expected, ours = self._batch(sql), None
        try:
            prepared = prepare_query(self.spark, planned(sql), {"t": T}, {})
            ours = sum(results(prepared, {"t": self.log}, []), Counter[Row]()) if expected is not None else None
        except HeadgateError:
            if len(texts) == 1:
                self.refused += 1
                return []
        except PySparkException:
            if len(texts) == 1:
                return [] if expected is None else list(texts)
        if expected is not None and ours is not None:
            self.compared += len(texts)
            return [text for place, text in enumerate(texts) if _column(ours, place) != _column(expected, place)]
        if len(texts) == 1:
            return []  # it fails in a batch, too
        half = len(texts) // 2
        return [*self.compare(texts[:half], grouped), *self.compare(texts[half:], grouped)]

    def _batch(self, sql: str) -> Counter[Row] | None:
        try:
            return counted(self.spark.sql(sql).toArrow())
        except Exception:  # Spark's own, or Arrow's of a type that it has not
            return None


def _column(rows: Counter[Row], place: int) -> Counter[str]:
    return Counter(repr(row[place]) for row in rows.elements())


def test_examples_of_spark_give_what_a_batch_gives(spark: SparkSession) -> None:
    trial = Trial(spark)
    names = "|".join(sorted(name for name in aggregates() if name.isidentifier()))
    plain = [
        text for text in examples(spark) if not re.search(rf"\b({names})\s*\(", text) and " AS " not in text.upper()
    ]
    wrong = [text for first in range(0, len(plain), 64) for text in trial.compare(plain[first : first + 64])]
    assert wrong == []
    assert trial.compared > 250


LITERALS = {"i": "3", "l": "7L", "d": "2.5D", "s": "'Spark'", "n": "12.34", "f": "true", "dt": "DATE '2020-02-29'"}
WAYS = {
    "columns in other words": {name: f"IF(i > 0, {name}, {name})" for name, _ in COLUMNS},
    "literals": LITERALS,
    "nested calls": {name: f"COALESCE({name}, {name})" for name, _ in COLUMNS},
}


@pytest.mark.parametrize("way", WAYS)
def test_functions_take_every_kind_of_argument_as_spark_does(spark: SparkSession, way: str) -> None:
    trial, wrong = Trial(spark), []
    for grouped in (False, True):
        calls = [CALLS[name] for name in CALLS if (name in aggregates()) == grouped and name in accepted()]
        texts = list(dict.fromkeys(str(with_columns(call, WAYS[way])) for call in calls))
        for first in range(0, len(texts), 64):
            wrong += trial.compare(texts[first : first + 64], grouped)
    assert wrong == []
    assert trial.compared > 150
