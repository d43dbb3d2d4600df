"""A minute of the fuzzer, and that it would notice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from tests.spark.fuzz.case import Case, QueryDef, StreamDef
from tests.spark.fuzz.commands import draw_case
from tests.spark.fuzz.features import FEATURES, chosen
from tests.spark.fuzz.grammar import KINDS
from tests.spark.fuzz.harness import Player
from tests.spark.fuzz.oracle import Rows
from tests.spark.fuzz.relations import ExpressionCase, Question, Relations, draw_expression_case, told_expressions
from tests.spark.fuzz.rows import draw_rows
from tests.spark.fuzz.shrink import script, shrink
from tests.spark.fuzz.sql import engine_sql

CASES = 3
SEED = 11


@pytest.mark.parametrize("number", range(CASES))
def test_results_equal_the_batch_whatever_is_done(spark: SparkSession, tmp_path: Path, number: int) -> None:
    case = draw_case(SEED, number, chosen())
    failures = Player(spark, case, tmp_path / "data").play()
    assert not failures, f"python -m tests.spark.fuzz --seed {SEED} --case {number}\n{script(case)}"


def test_random_expressions_give_what_a_batch_gives_alone_grouped_and_in_pieces(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = draw_expression_case(spark, SEED, 1)
    assert ExpressionCase.from_json(case.to_json()) == case == draw_expression_case(spark, SEED, 1)
    failures = Relations(spark, case, tmp_path, lambda _: None).play()
    assert not failures, f"python -m tests.spark.fuzz --seed {SEED} --case 1\n{told_expressions(case)}"


def test_expressions_that_are_taken_for_equal_and_are_not_are_noticed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.plan.sql.normal.is_total", lambda node, types: True)
    texts = ("i = 0 OR 100 / i > 30", "100 / i > 30 OR i = 0")
    questions = [Question(f"q{n}", f"SELECT id FROM t WHERE {text}") for n, text in enumerate(texts)]
    case = ExpressionCase(1, 1, draw_rows(Random(5), 12), questions)
    failures = Relations(spark, case, tmp_path, lambda _: None).play()
    assert {failure.kind for failure in failures} >= {"results"}
    assert {failure.where for failure in failures} in ({"q0"}, {"q1"})  # whose text runs for both


def test_a_case_is_the_same_whenever_it_is_drawn_and_as_json() -> None:
    case = draw_case(3, 5, FEATURES)
    assert draw_case(3, 5, FEATURES) == case == Case.from_json(case.to_json())
    assert draw_case(3, 6, FEATURES) != case


def test_cases_have_everything_in_them() -> None:
    """Every kind of step and sink, and of each feature that is turned off nothing."""
    cases = [draw_case(1, number, FEATURES) for number in range(60)]
    steps = {step[0] for case in cases for step in case.steps}
    assert steps >= {"append", "drain", "pause", "resume", "replace", "move", "stop", "policy", "finish", "restart"}
    assert {query.sink for case in cases for query in case.queries} == {
        "parquet",
        "jsonl",
        "memory",
        "callback",
        "failing",
    }
    texts = " ".join(engine_sql(query.tree) for case in cases for query in case.queries)
    assert all(word in texts for word in ("TUMBLE(", "HOP(", "EXCEPT", "UNION ALL", "WITH h", "LEFT JOIN", "HAVING"))
    assert all(case.qos for case in (draw_case(1, n, FEATURES - {"without qos"}) for n in range(20)))
    assert len(KINDS) == 17


def losing(rows: Rows) -> Rows:
    """A sink that loses one result with v = 3."""
    return rows - Counter([next((row for row in rows if 3 in row), ())])


def test_a_lost_result_is_noticed_and_the_case_made_small(spark: SparkSession, tmp_path: Path) -> None:
    tree = {"select": [{"e": "x.v", "as": "c0"}], "from": {"stream": "a", "as": "x"}, "where": [{"e": "x.v > 1"}]}
    rows = [[number, number, 1_577_836_800_000_000 + number] for number in range(6)]
    case = Case(
        seed=1,
        number=1,
        streams=[StreamDef("a", [["id", "bigint"], ["v", "int"], ["ts", "timestamp"]], 0.0)],
        queries=[QueryDef(name, tree, tree) for name in ("q0", "q1")],
        steps=[["append", "a", rows, "table"], ["drain"], ["append", "a", rows[-1:], "dicts"], ["status"]],
    )
    lives = iter(range(1000))

    def fails(smaller: Case) -> bool:
        failures = Player(spark, smaller, tmp_path / f"data{next(lives)}", alter=losing).play()
        return any(failure.kind == "results" for failure in failures)

    assert fails(case)
    small = shrink(case, fails, tries=10)
    assert (len(small.queries), len(small.steps)) < (len(case.queries), len(case.steps))
    assert small.rows < case.rows
