"""Plays cases one after another on one Spark, and tells of each in a line of JSON."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tests.spark.fuzz.case import Case
from tests.spark.fuzz.commands import draw_case
from tests.spark.fuzz.harness import PATIENCE, Player
from tests.spark.fuzz.lives import Failure
from tests.spark.fuzz.relations import (
    ExpressionCase,
    Relations,
    draw_expression_case,
    shrink_expressions,
    told_expressions,
)
from tests.spark.fuzz.shrink import script, shrink

from headgate.spark.jvm.settings import builder

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
AnyCase = Case | ExpressionCase
EVERY = 8  # with kills, one case of so many
MOST_SHRUNK = 3  # failures of one kind that are made small


@dataclass(frozen=True, slots=True)
class Plan:
    """Which cases to play."""

    seed: int
    first: int
    last: int
    features: frozenset[str]
    kills: bool
    deadline: float  # of time.time()
    kept: Path  # where failing cases go

    def case(self, spark: SparkSession, number: int) -> AnyCase:
        """Every other case is of random expressions; the others of queries from lists, and of commands."""
        if number % 2 and "expressions" in self.features:
            return draw_expression_case(spark, self.seed, number)
        return draw_case(self.seed, number, self.features, kill=self.kills and number % EVERY == EVERY - 1)


def spark_session() -> SparkSession:
    os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK)
    session = builder("local[2]", "headgate-fuzz").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def watch(_: str) -> None:
    """A call that hangs ends the process with the stacks of all threads; whoever supervises goes on with another."""
    faulthandler.dump_traceback_later(1.5 * PATIENCE, exit=True)


def play(spark: SparkSession, case: AnyCase, watching: Callable[[str], None] = lambda _: None) -> list[Failure]:
    """The failures of a case, on a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="headgate-fuzz-") as folder:
        try:
            if isinstance(case, ExpressionCase):
                return Relations(spark, case, Path(folder), watching).play()
            return Player(spark, case, Path(folder) / "data", watch=watching).play()
        finally:
            faulthandler.cancel_dump_traceback_later()


def work(plan: Plan) -> None:
    """All cases of a plan."""
    spark = spark_session()
    shrunk = Counter[str]()
    for number in range(plan.first, plan.last):
        if time.time() > plan.deadline:
            break
        case = plan.case(spark, number)
        _tell(begin=number)
        began = time.monotonic()
        failures = play(spark, case, watch)
        counts = {"queries": len(case.queries), "rows": case.rows, "commands": _commands(case)}
        _tell(case=number, seconds=time.monotonic() - began, failures=[asdict(each) for each in failures], **counts)
        if failures:
            kind = failures[0].kind
            shrunk[kind] += 1
            _keep(plan, case if shrunk[kind] > MOST_SHRUNK else smallest(spark, case, failures[0]), failures[0])
    _tell(end=True)
    spark.stop()


def smallest(spark: SparkSession, case: AnyCase, failure: Failure) -> AnyCase:
    """A smaller case that fails in the same way; most need no query but the one that failed."""
    if isinstance(case, ExpressionCase):
        return shrink_expressions(case, lambda less: any(_alike(each, failure) for each in play(spark, less)), failure)
    alone = replace(case, queries=sorted(case.queries, key=lambda query: query.name not in failure.where.split()))
    return shrink(alone, lambda smaller: any(_alike(each, failure) for each in play(spark, smaller, watch)))


def _alike(one: Failure, other: Failure) -> bool:
    """Of refusals and errors the words count too: a query cut too short is refused as well."""
    if one.kind in ("refused", "error"):
        return one.kind == other.kind and one.text[:40] == other.text[:40]
    return one.kind == other.kind


def read_case(text: str) -> AnyCase:
    """The case that was kept as JSON."""
    return ExpressionCase.from_json(text) if "expressions" in json.loads(text) else Case.from_json(text)


def script_of(case: AnyCase) -> str:
    """A case for people."""
    return told_expressions(case) if isinstance(case, ExpressionCase) else script(case)


def _keep(plan: Plan, case: AnyCase, failure: Failure) -> None:
    plan.kept.mkdir(parents=True, exist_ok=True)
    path = plan.kept / f"seed-{case.seed}-case-{case.number}.json"
    path.write_text(case.to_json())
    _tell(small=case.number, file=str(path), failure=str(failure), script=script_of(case))


def _commands(case: AnyCase) -> int:
    return 0 if isinstance(case, ExpressionCase) else sum(step[0] != "append" for step in case.steps)


def _tell(**told: Any) -> None:
    print("@" + json.dumps(told), flush=True)


def read(line: str) -> dict[str, Any] | None:
    """What a worker's line tells; None if it is not one.

    >>> read('@{"begin": 3}'), read("26/11/16 WARN Utils")
    ({'begin': 3}, None)
    """
    with contextlib.suppress(ValueError):
        if line.startswith("@"):
            return dict(json.loads(line[1:]))
    return None


def live(case: Case, folder: Path) -> None:
    """The first life of a case with a kill: its steps up to there, and the end of the process while work goes on."""
    player = Player(spark_session(), case, folder, watch=watch)
    for failure in player.live():
        print(f"@{json.dumps({'failure': asdict(failure)})}", flush=True)
    sys.stdout.flush()
    os.killpg(os.getpgid(0), signal.SIGKILL)


def lines(stream: Iterator[str]) -> Iterator[dict[str, Any]]:
    """What a worker tells, as it comes."""
    for line in stream:
        told = read(line)
        if told is not None:
            yield told
