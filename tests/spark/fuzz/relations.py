"""Queries of random expressions, run alone, in groups and in pieces: what must be true of their results.

* They are those of one Spark batch. Where that fails, those of batches of a row each, for the rows that do not fail.
  (Not so the letters: a batch may see that a row gives no result before it comes to what fails.)
* A query alone, in a group with others, and in fragments gives the same, with as many dead letters.
* `WHERE p`, `WHERE NOT (p)` and `WHERE (p) IS NULL` give every row once, but for those that one of them fails on.
* A query in another spelling gives what its own batch gives, also beside the first one.
* What Spark refuses is refused, and nothing else ends in another error than HeadgateError.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.spark.compile.logs import counted
from tests.spark.fuzz.lives import Failure
from tests.spark.fuzz.oracle import SETTINGS, Rows
from tests.spark.fuzz.rows import draw_rows, to_table, view_of
from tests.spark.fuzz.small import OFTEN, made_small
from tests.spark.fuzz.typed import COLUMNS, Expressions, Registry, registry, spelled_otherwise

import headgate
from headgate.model import HeadgateError
from headgate.plan.sql.parse import SPARK

PATIENCE = 120.0  # seconds until a session counts as stuck
WAYS = {"alone": ("fcfs", "off"), "grouped": ("fcfs", "all"), "pieces": ("fifo", "off")}  # policy and fusion
PLAIN, JOINED, GROUPED = "plain", "joined", "grouped"


@dataclass(frozen=True, slots=True)
class Question:
    """A query; `part` numbers those of one condition, of which each row satisfies one."""

    name: str
    sql: str
    kind: str = PLAIN
    part: int = 0


@dataclass(frozen=True, slots=True)
class ExpressionCase:
    """Rows as places of values (`rows.py`), and queries over them."""

    seed: int
    number: int
    values: list[list[int]]
    questions: list[Question]

    @property
    def queries(self) -> list[Question]:
        return self.questions

    @property
    def rows(self) -> int:
        return len(self.values)

    def to_json(self) -> str:
        return json.dumps({"expressions": asdict(self)}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> ExpressionCase:
        """The case that `to_json` wrote."""
        told = json.loads(text)["expressions"]
        return cls(told["seed"], told["number"], told["values"], [Question(**each) for each in told["questions"]])


@cache
def _registries(spark: SparkSession) -> tuple[Registry, Registry]:
    return registry(spark), registry(spark, grouped=True)


def draw_expression_case(spark: SparkSession, seed: int, number: int) -> ExpressionCase:
    """The case of a seed and a number."""
    random = Random(f"expressions {seed} {number}")
    plain, aggregates = _registries(spark)
    one = Expressions(random, plain, aggregates)
    two = Expressions(random, plain, aggregates, ("x", "y"))
    questions: list[Question] = []
    for place in range(random.randint(2, 4)):
        questions += _plain(random, one, f"p{place}")
    for place in range(random.randint(1, 2)):
        condition = one.condition()
        parts = (condition, f"NOT ({condition})", f"({condition}) IS NULL")
        questions += [
            Question(f"c{place}{at}", f"SELECT id FROM t WHERE {part}", part=place + 1) for at, part in enumerate(parts)
        ]
    for place in range(random.randint(1, 2)):
        questions.append(_joined(random, two, f"j{place}"))
        questions.append(_grouped(random, one, f"g{place}"))
    return ExpressionCase(seed, number, draw_rows(random, random.randint(6, 12)), questions)


def _plain(random: Random, draw: Expressions, name: str) -> Iterator[Question]:
    items = ", ".join(f"{draw.anything()} AS c{at}" for at in range(random.randint(1, 4)))
    sql = f"SELECT id, {items} FROM t"
    if random.random() < 0.6:
        sql += f" WHERE {draw.condition()}"
    yield Question(name, sql)
    yield Question(f"{name}o", spelled_otherwise(random, sql, SPARK.tokenize(sql)))


def _joined(random: Random, draw: Expressions, name: str) -> Question:
    low, high = random.choice(((-3, 3), (0, 4), (0, 0), (-8, 0)))
    bound = f"y.ts BETWEEN x.ts + INTERVAL {low} SECONDS AND x.ts + INTERVAL {high} SECONDS"
    keys = random.choice(("x.i = y.i", "x.s = y.s", "x.f <=> y.f", "x.i = y.l", "upper(x.s) = upper(y.s)"))
    sql = f"SELECT x.id AS a, y.id AS b, {draw.anything(1)} AS c FROM t x JOIN t y ON {keys} AND {bound}"
    if random.random() < 0.7:
        sql += f" AND ({draw.condition(1)})"
    if random.random() < 0.4:
        sql += f" WHERE {draw.condition(1)}"
    return Question(name, sql, JOINED)


def _grouped(random: Random, draw: Expressions, name: str) -> Question:
    keys = [draw.anything(1) for _ in range(random.choice((0, 1, 1, 2)))]
    items = [f"{key} AS k{at}" for at, key in enumerate(keys)]
    items += [f"{draw.aggregate()} AS a{at}" for at in range(random.randint(1, 3))]
    size, slide = random.choice(((4, 4), (6, 3), (60, 60)))
    window = f"window(ts, '{size} seconds', '{slide} seconds')"
    sql = f"SELECT window.start AS w, {', '.join(items)} FROM t"
    if random.random() < 0.5:
        sql += f" WHERE {draw.condition(1)}"
    sql += f" GROUP BY {', '.join([window, *keys])}"
    if random.random() < 0.4:
        sql += f" HAVING {draw.aggregate(0)} IS NOT NULL OR count(*) > 1"
    return Question(name, sql, GROUPED)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query gave: rows and how many letters; or why it was refused."""

    rows: Rows
    letters: int = 0
    refusal: str = ""


class Batch:
    """The same queries as Spark batches."""

    def __init__(self, spark: SparkSession, rows: pa.Table) -> None:
        self._spark, self._rows = spark.newSession(), rows
        for key, value in SETTINGS.items():
            self._spark.conf.set(key, value)

    def answer(self, question: Question) -> Answer | None:
        """Its answer; None where nobody can say: a join or a group that fails on some rows."""
        view_of(self._spark, "t", self._rows)
        try:
            frame = self._spark.sql(question.sql)
        except PySparkException as error:
            if ">>" in question.sql and "PARSE_SYNTAX_ERROR" in str(error):
                return None  # behind the word ARRAY, MAP or STRUCT Spark's lexer takes >> for the end of a type
            return Answer(Rows(), refusal=str(error).strip().splitlines()[0])
        try:
            return Answer(_plain_rows(frame.toArrow()))
        except Exception:  # Spark's own, or Arrow's of a value that it cannot hold
            return self._by_row(question) if question.kind == PLAIN else None

    def fails_always(self, question: Question) -> bool:
        """Whether it fails on every row, as on a constant."""
        for at in range(self._rows.num_rows):
            view_of(self._spark, "t", self._rows.take([at]))
            try:
                self._spark.sql(question.sql).toArrow()
            except Exception:
                continue
            return False
        return True

    def _by_row(self, question: Question) -> Answer | None:
        rows, failed = Rows(), 0
        for at in range(self._rows.num_rows):
            view_of(self._spark, "t", self._rows.take([at]))
            try:
                rows += _plain_rows(self._spark.sql(question.sql).toArrow())
            except Exception:
                failed += 1
        return Answer(rows, failed) if failed < self._rows.num_rows else None  # on a constant, come to or not


def _plain_rows(table: pa.Table) -> Rows:
    return Counter(tuple(map(_told, row)) for row in counted(table).elements())


def _told(value: Any) -> Any:
    """A value as it is compared: the last digits of floating numbers depend on the order of addition."""
    if isinstance(value, float):
        return f"{value:.9g}"
    return tuple(map(_told, value)) if isinstance(value, tuple) else value


class Relations:
    """Plays a case and looks at what its answers have to do with each other."""

    def __init__(
        self, spark: SparkSession, case: ExpressionCase, directory: Path, watch: Callable[[str], None]
    ) -> None:
        self._spark, self._case, self._directory, self._watch = spark, case, directory, watch
        self._table = to_table(case.values)
        self.failures: list[Failure] = []
        self.refusals: dict[str, str] = {}
        self._suspended: dict[tuple[str, str], str] = {}  # by question and way

    def play(self) -> list[Failure]:
        """All failures."""
        questions = list(self._case.questions)
        ways: dict[str, dict[str, Answer]] = {}
        for way in WAYS:
            try:
                with made_small(OFTEN):
                    ways[way] = self._answers(way, questions)
            except HeadgateError as error:
                self._fail("refused", way, str(error))
                return self.failures
            except Exception as error:
                self._fail("error", way, f"{type(error).__name__}: {error}")
                return self.failures
        self._compare(ways)
        return self.failures

    def _answers(self, way: str, questions: list[Question]) -> dict[str, Answer]:
        policy, fuse = WAYS[way]
        self._watch(f"open {way}")
        found: dict[str, Answer] = {}
        with headgate.Session(
            spark=self._spark, directory=self._directory / way, policy=policy, fuse=fuse, workers=2
        ) as session:
            session.stream("t", ", ".join(f"{name} {kind}" for name, kind in COLUMNS), event_time="ts")
            handles = {}
            for question in questions:
                self._watch(f"{way}: {question.name}")
                try:
                    handles[question.name] = session.query(question.name, question.sql)
                except HeadgateError as error:
                    found[question.name] = Answer(Rows(), refusal=str(error) or "refused")
                except Exception as error:
                    self._fail("error", question.name, f"{way}: {type(error).__name__}: {error}")
            cut = self._table.num_rows // 2
            session.append("t", self._table.slice(0, cut))
            session.append("t", self._table.slice(cut))
            session.finish("t")
            self._watch(f"{way}: drain")
            if not session.drain(PATIENCE):
                self._fail(
                    "stuck", way, f"{ {line.name: line.error for line in session.status().queries if line.error} }"
                )
                return found
            for name, handle in handles.items():
                status = handle.status
                if status.state == "suspended":
                    self._suspended[name, way] = status.error
                else:
                    found[name] = Answer(_plain_rows(handle.read()), status.dead_letters)
        return found

    def _compare(self, ways: dict[str, dict[str, Answer]]) -> None:
        batch, known = Batch(self._spark, self._table), dict[str, Answer | None]()
        for question in self._case.questions:
            self._watch(f"batch: {question.name}")
            wanted = known[question.name] = batch.answer(question)
            for (name, way), why in self._suspended.items():
                if name == question.name and not batch.fails_always(question):
                    self._fail("suspended", name, f"{way}: {why}")
            for way, answers in ways.items():
                found = answers.get(question.name)
                if found is not None:
                    self._against(question, way, found, wanted)
            self._same(question, ways)
        for part in {question.part for question in self._case.questions if question.part}:
            mine = [known[question.name] for question in self._case.questions if question.part == part]
            if all(answer is not None and not answer.letters for answer in mine):
                continue  # they are those of the batch, also where Spark thinks that nothing can be null, and it is
            for way, answers in ways.items():
                self._every_row(way, part, answers)

    def _against(self, question: Question, way: str, found: Answer, wanted: Answer | None) -> None:
        if found.refusal:
            self.refusals |= {question.name: found.refusal}
        elif wanted is None:
            return
        elif wanted.refusal:
            self._fail("accepted", question.name, f"{way}: Spark refuses it: {wanted.refusal}")
        elif found.rows != wanted.rows:
            self._fail("results", question.name, f"{way}: {_difference(found.rows, wanted.rows)}")

    def _same(self, question: Question, ways: dict[str, dict[str, Answer]]) -> None:
        """Alone, grouped and in pieces: the same rows.

        There may be more letters in one way than in another, and where a batch does not fail: Spark asks nothing of a
        row that a condition which it asks first, or knows without asking, leaves out. `_every_row` looks at letters.
        """
        found = {way: answers[question.name] for way, answers in ways.items() if question.name in answers}
        if not found:
            return
        first, *others = found.items()
        for way, other in others:
            if bool(other.refusal) != bool(first[1].refusal) or other.rows != first[1].rows:
                told = other.refusal or first[1].refusal or _difference(other.rows, first[1].rows)
                self._fail("ways", question.name, f"{way} is not {first[0]}: {told}")

    def _every_row(self, way: str, part: int, answers: dict[str, Answer]) -> None:
        mine = [answers.get(question.name) for question in self._case.questions if question.part == part]
        known = [answer for answer in mine if answer is not None and not answer.refusal]
        if len(known) < 3:
            return
        ids = Counter(row[0] for answer in known for row in answer.rows.elements())
        missing = self._table.num_rows - len(ids)
        twice = [number for number, count in ids.items() if count > 1]
        letters = max(answer.letters for answer in known)
        if twice or letters < missing:  # more: in NOT p and p IS NULL Spark may see that a part of p decides nothing
            self._fail(
                "parts",
                f"c{part - 1}0 c{part - 1}1 c{part - 1}2",
                f"{way}: {twice} twice, {missing} in none, {letters} letters",
            )

    def _fail(self, kind: str, where: str, text: str) -> None:
        self.failures.append(Failure(kind, where, " ".join(text.split())[:700]))


def _difference(found: Rows, wanted: Rows) -> str:
    lost, extra = wanted - found, found - wanted
    return f"lacks {list(lost.elements())[:2]} and has {list(extra.elements())[:2]}"


def smaller(case: ExpressionCase, failure: Failure) -> Iterator[ExpressionCase]:
    """The failing queries alone, then fewer rows."""
    alone = [question for question in case.questions if question.name in failure.where.split()]
    if alone and len(alone) < len(case.questions):
        yield replace(case, questions=alone)
    for at in range(len(case.values)):
        yield replace(case, values=case.values[:at] + case.values[at + 1 :])


def shrink_expressions(
    case: ExpressionCase, fails: Callable[[ExpressionCase], bool], failure: Failure
) -> ExpressionCase:
    """The smallest case found that fails too."""
    better = True
    while better:
        better = False
        for candidate in smaller(case, failure):
            if fails(candidate):
                case, better = candidate, True
                break
    return case


def told_expressions(case: ExpressionCase) -> str:
    """A case for people."""
    rows = [str(row) for row in to_table(case.values).to_pylist()]
    return "\n".join([*(f"query {each.name}: {each.sql}" for each in case.questions), *rows])
