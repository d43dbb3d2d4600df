"""Random expressions of a type, made of every function that is accepted, over columns of every type.

A call of each function, over columns that stand for values of their types, is in `fixtures/functions.txt`. Spark says
of which type it is; in the places of its columns come other columns, literals and calls.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from random import Random
from typing import Any

from pyspark.sql import SparkSession
from tests.spark.compile.test_functions import CALLS
from tests.spark.compile.test_functions import COLUMNS as OF_CALLS

from headgate.plan.sql.functions import accepted, aggregates
from headgate.plan.sql.rewriting import with_columns

# The columns of a stream: those that the calls are over, and one of every type besides.
COLUMNS = (
    ("id", "bigint"),
    *OF_CALLS[:-1],
    *(("y", "tinyint"), ("h", "smallint"), ("r", "float"), ("big", "decimal(38,10)"), ("lt", "timestamp_ntz")),
    *(("ad", "array<date>"), ("aa", "array<struct<x:int,y:string>>"), ("ma", "map<int,array<string>>")),
    OF_CALLS[-1],
)
TYPES = dict(COLUMNS)
LITERALS = {
    "int": ("0", "1", "-3", "7", "2147483647", "NULL"),
    "bigint": ("0L", "5", "-9223372036854775807", "1600000000L"),
    "smallint": ("1S", "CAST(300 AS smallint)"),
    "tinyint": ("2Y", "-128Y"),
    "double": ("0.0D", "2.5D", "-1e3", "double('NaN')"),
    "float": ("1.5F", "CAST(0.1 AS float)"),
    "decimal(10,2)": ("12.34", "0.00BD", "CAST(7 AS decimal(10,2))"),
    "string": ("''", "'Spark'", "'7'", '"a\'b"', "'d\\'th'", "'yyyy-MM-dd'", "r'\\d'", "'2020-02-29'", "'ü€'"),
    "boolean": ("TRUE", "false", "NULL"),
    "date": ("DATE '2020-02-29'", "date'1969-12-31'"),
    "timestamp": ("TIMESTAMP '2020-02-29 12:00:01.5'", "timestamp '1970-01-01 00:00:00'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ '2020-02-29 12:00:01'",),
    "binary": ("X'00ff'", "x'6162'"),
    "array<int>": ("array(1, 2, NULL)", "array(3)"),
    "array<string>": ("array('x', 'y')",),
    "map<string,int>": ("map('k', 1)",),
    "struct<x:int,y:string>": ("named_struct('x', 1, 'y', 'z')",),
    "array<float>": ("array(1.0F, 2.0F)",),
}
# Types that Spark casts to each other where one is expected and the other given, if need be.
_CASTS = (
    ("tinyint", "smallint", "int", "bigint", "decimal(10,2)", "decimal(38,10)", "float", "double", "string"),
    ("date", "timestamp", "timestamp_ntz", "string"),
    ("binary", "string"),
    ("boolean", "string"),
)
# What may stand between any two values, whether their types agree or not: Spark casts one of them, or refuses.
BETWEEN = ("=", "<>", "!=", "==", "<", ">", "<=", ">=", "<=>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
COMPARED = tuple(kind for kind in TYPES.values() if not kind.startswith("map"))
TESTS = ("{} IS NULL", "{} IS NOT NULL", "{} IN ({}, {})", "{} NOT IN ({})", "{} BETWEEN {} AND {}", "isnotnull({})")
ARITHMETIC = ("+", "-", "*", "/", "%", "DIV", "&", "|", "^", "<<", ">>")
_SLOT = re.compile(r"slot_(\w+?)_")
# Their values depend on the order of rows: of additions in their last digits, of ties in which of them is taken.
ORDER_OF_ROWS = re.compile(r"^(corr|covar|kurtosis|regr|skewness|std|var|vector|max_by|min_by)")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function: pieces of text, and between them the types of values."""

    name: str
    pieces: tuple[str, ...]
    slots: tuple[str, ...]


Registry = dict[str, list[Call]]  # by the type that they give


def registry(spark: SparkSession, *, grouped: bool = False) -> Registry:
    """Calls of all accepted functions, or of all aggregates, by the type that Spark gives them."""
    names = [name for name in CALLS if name in accepted() and (name in aggregates()) == grouped]
    calls = ", ".join(f"{CALLS[name]} AS c{place}" for place, name in enumerate(names))
    empty = spark.createDataFrame([], ", ".join(f"{name} {kind}" for name, kind in OF_CALLS))
    empty.createOrReplaceTempView("of_calls")
    kinds = [field.dataType.simpleString() for field in spark.sql(f"SELECT {calls} FROM of_calls").schema]
    found: Registry = defaultdict(list)
    for name, kind in zip(names, kinds, strict=True):
        found[kind].append(_call(name))
    return dict(found)


def _call(name: str) -> Call:
    """A call with its columns cut out.

    >>> _call("lpad")
    Call(name='lpad', pieces=('lpad(', ", 10, '*')"), slots=('string',))
    """
    marked = str(with_columns(CALLS[name], {column: f"slot_{column}_" for column, _ in OF_CALLS}))
    pieces = _SLOT.split(marked)
    return Call(name, tuple(pieces[::2]), tuple(dict(OF_CALLS)[column] for column in pieces[1::2]))


@dataclass(frozen=True, slots=True)
class Expressions:
    """Draws expressions over the columns of some aliases."""

    random: Random
    calls: Registry
    aggregates: Registry
    aliases: tuple[str, ...] = ("",)

    def value(self, kind: str, depth: int) -> str:
        """An expression of a type, or now and then of another one."""
        random = self.random
        if random.random() < 0.1:
            kind = self.other(kind)
        roll = random.random()
        if depth and kind in self.calls and roll < 0.65:
            return self.call(random.choice(self.calls[kind]), depth)
        if kind in LITERALS and roll > 0.9:
            return random.choice(LITERALS[kind])
        names = [name for name, own in COLUMNS if own == kind]
        return self.column(random.choice(names)) if names else f"CAST(NULL AS {kind})"

    def other(self, kind: str) -> str:
        """Another type that values of a type may be cast to, or the type itself."""
        return self.random.choice([other for kinds in _CASTS if kind in kinds for other in kinds] or [kind])

    def column(self, name: str) -> str:
        alias = self.random.choice(self.aliases)
        return f"{alias}.{name}" if alias else name

    def call(self, call: Call, depth: int) -> str:
        text = call.pieces[0]
        for kind, piece in zip(call.slots, call.pieces[1:], strict=True):
            text += self._operand(kind, depth - 1) + piece
        return text

    def _operand(self, kind: str, depth: int) -> str:
        """In parentheses, mostly: without them it means whatever Spark's precedence makes of it."""
        text = self.value(kind, depth)
        return text if re.fullmatch(r"\w+(\.\w+)?", text) or self.random.random() < 0.25 else f"({text})"

    def anything(self, depth: int = 2) -> str:
        """An expression of any type."""
        if self.random.random() < 0.1:
            numbers = [self._operand(self.random.choice(("int", "bigint", "double")), 1) for _ in range(3)]
            first, second = self.random.choices(ARITHMETIC, k=2)
            return f"{numbers[0]} {first} {numbers[1]} {second} {numbers[2]}"
        call = self.random.choice([call for calls in self.calls.values() for call in calls])
        return self.call(call, depth)

    def condition(self, depth: int = 2) -> str:
        """Something that is true or false, with ANDs and ORs of operands that may fail."""
        random = self.random
        roll = random.random()
        if depth and roll < 0.55:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            sign = random.choice(("AND", "OR"))
            if random.random() < 0.5:
                left, right = f"({left})", f"({right})"
            return f"NOT ({left} {sign} {right})" if random.random() < 0.15 else f"{left} {sign} {right}"
        if roll < 0.75:
            return self._compared()
        return self.value("boolean", 1 + depth)

    def _compared(self) -> str:
        random = self.random
        kind = random.choice(COMPARED)
        other = kind if random.random() < 0.5 else self.other(kind)
        if random.random() < 0.35:
            test = random.choice(TESTS)
            return test.format(*self._operands(kind, *[other] * (test.count("{}") - 1)))
        left, right = self._operands(kind, other)
        return f"{left} {random.choice(BETWEEN)} {right}"

    def _operands(self, *kinds: str) -> list[str]:
        """Different ones: of `a < a` Spark knows before it runs that it is false, and then asks no other condition."""
        texts: list[str] = []
        for kind in kinds:
            tries = (self._operand(kind, 1) for _ in range(20))
            texts.append(next((text for text in tries if text not in texts), "NULL"))
        return texts

    def aggregate(self, depth: int = 1) -> str:
        """An aggregate whose value does not depend on the order of rows."""
        calls = [call for calls in self.aggregates.values() for call in calls if not ORDER_OF_ROWS.match(call.name)]
        text = self.call(self.random.choice(calls), depth)
        return f"{text} FILTER (WHERE {self.condition(0)})" if self.random.random() < 0.2 else text


def spelled_otherwise(random: Random, sql: str, tokens: Any) -> str:
    """The same statement with other spaces, comments and capitals, and other signs for the same operators."""
    text, end = "", 0
    for token in tokens:
        gap, word = sql[end : token.start], sql[token.start : token.end + 1]
        if token.start < end:
            continue  # `1L` is three tokens in one place
        text += random.choice((gap, " \n ", " /* a note */ ")) if gap else gap
        if word in _SAME:
            word = random.choice(_SAME[word])
        elif re.fullmatch(r"[A-Za-z_]\w*", word) and word.lower() not in ("r", "x"):
            word = random.choice((word, word.upper(), word.lower()))
        text += word
        end = token.end + 1
    return text + sql[end:]


_SAME = {"=": ("=", "=="), "==": ("=", "=="), "<>": ("<>", "!="), "!=": ("<>", "!=")}
