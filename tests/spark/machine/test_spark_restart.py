"""Spark dies and is restarted at any moment, as the state machine sees it: no Spark, no threads, random order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from random import Random
from typing import Any

import pytest

from headgate.model import HeadgateError, Query, QueryClass, Stream
from headgate.plan.fusion import Fuse
from headgate.plan.places import Place
from headgate.plan.sql import plan_sql
from headgate.spark.compile.read_sets import sources
from headgate.spark.engine.initial_state import new_scheduler
from headgate.spark.jvm.gone import SparkChangedError, SparkGoneError
from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t
from headgate.spark.machine.context import Notice
from headgate.spark.machine.interfaces import Chunks
from headgate.spark.machine.lifecycle import QueryState
from headgate.spark.machine.machine import Machine

STREAM = Stream(name="a", schema=(("v", "bigint"),))
SQL = "SELECT v FROM a WHERE v > {}"


@dataclass(frozen=True, eq=False)
class FakeFragment:
    leaves: Mapping[Place, Any]
    place: Place = ()
    held: tuple[Place, ...] = ()
    feeds_name: str | None = None


@dataclass(frozen=True, eq=False)
class FakeLayout:
    """The layout of a whole query, prepared for one of the Spark processes."""

    fragments: tuple[FakeFragment, ...]
    spark: int
    level: None = None
    whole: bool = True

    @property
    def leaves(self) -> Mapping[Place, Any]:
        return self.fragments[0].leaves

    def cut(self) -> None:
        return None


class FakeFacts:
    def start(self, stream: str) -> int:
        return 0

    def end(self, stream: str) -> int:
        return 0

    def frontier(self, stream: str, offset: int) -> float:
        return -inf

    def ended(self, stream: str) -> bool:
        return False

    def require(self, stream: str, offset: int) -> None: ...

    def folds(self, resume_point: Any) -> bool:
        return False

    def window_key(self, resume_point: Any) -> Any:
        return resume_point.name

    def closed(self, resume_point: Any, frontiers: Any) -> tuple[float, ...]:
        return ()

    def can_close(self, resume_point: Any, fragment: Any, ends: Any) -> bool:
        return True


@dataclass
class World:
    """The machine, its pending tasks, and a Spark that can be killed."""

    seed: int
    revivable: bool = True
    fuse: Fuse = Fuse.OFF
    bombs: frozenset[str] = frozenset()  # queries whose runs make Java die
    pairs: frozenset[str] = frozenset()  # queries of which any two that run at a time make Java die
    failing_starts: int = 0  # how often Java dies while it is started
    deaths: int = 0
    spark: int = 1
    alive: bool = True
    now: float = 0.0
    end: int = 0  # of the stream
    tickets: int = 0
    pending: list[tuple[t.Task, int]] = field(default_factory=list)  # with the Spark of the time when it was given
    replies: dict[int, t.Reply] = field(default_factory=dict)
    taken: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # offsets committed, by query
    delivered: dict[str, list[int]] = field(default_factory=dict)  # commits, by query
    log_texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        scheduler = new_scheduler("fcfs", self.fuse, self.seed, 2, None)
        self.machine = Machine(scheduler, FakeFacts(), workers=2)
        self.commits = 0

    def send(self, message: Any) -> None:
        self.now += self.random.random()
        for out in self.machine.handle(message, self.now):
            if isinstance(out, t.Task):
                self.pending.append((out, self.spark))
            elif isinstance(out, t.Reply):
                self.replies[out.ticket] = out
            elif isinstance(out, Notice):
                self.log_texts.append(out.text)

    def ask(self, kind: Any, *given: Any) -> int:
        self.tickets += 1
        self.send(kind(self.tickets, *given))
        return self.tickets

    def add(self, name: str, *, start: float | None = None, sink: str = "parquet") -> None:
        sql = SQL.format(len(self.machine.context.lives))
        plan = plan_sql(sql, {"a": STREAM}, {})
        query = Query(name=name, query_class="c", plan=plan, sql=sql, sink=sink)
        self.ask(m.AddQuery, query, start, None, t.FILES, 0.0, None)

    def append(self, count: int) -> None:
        self.end += count
        self.send(m.Appended("a", self.end, ((self.now, count),)))

    def step(self) -> bool:
        """Carry out one of the tasks that wait; False: there is none."""
        if not self.pending:
            return False
        task, spark = self.pending.pop(self.random.randrange(len(self.pending)))
        try:
            self.send(m.Answer(task, self.perform(task, spark)))
        except HeadgateError as error:
            self.send(m.Answer(task, error=error))
        return True

    def settle(self) -> None:
        for _ in range(2000):
            if not self.step():
                self.send(m.TimePassed())
                if not self.pending:
                    return
        raise AssertionError("it does not come to rest")

    def needs_spark(self, spark: int) -> None:
        if not self.alive:
            raise SparkGoneError("Spark died")
        if spark != self.spark:
            raise SparkChangedError("Spark died before")

    def perform(self, task: t.Task, spark: int) -> Any:
        if isinstance(task, t.OpenStream):
            return 0
        if isinstance(task, t.RestartSpark):
            return self.revive()
        if isinstance(task, t.CheckQuery):
            self.needs_spark(spark)
            return t.CheckedQuery(FakeLayout((FakeFragment(dict(sources(task.query.plan))),), self.spark))
        if isinstance(task, t.Prepare):
            place, at = next(iter(task.resume_point.positions.items()))
            end = task.ends["a"]
            backlog: dict[Place, Chunks] = {place: ((self.now, end - at),)} if at < end else {}
            return t.Prepared(task.resume_point.layout, dict(task.resume_point.positions), {}, backlog)
        if isinstance(task, t.Evaluate):
            portions = [portion for group in task.groups for portion in group]
            for portion in portions:
                assert isinstance(portion.resume_point.layout, FakeLayout)
                self.needs_spark(portion.resume_point.layout.spark)
            self.needs_spark(spark)
            self.blow_up({portion.name for portion in portions})
            return [t.PortionResult(portion, output="rows", count=1, tuples=1) for portion in portions]
        if isinstance(task, t.WriteCommit):
            return self.write(task)
        if isinstance(task, t.Deliver):
            if task.sink.startswith("table"):
                self.needs_spark(spark)
            self.delivered.setdefault(task.query, []).extend(number for number, _ in task.batch)
        return {}

    def blow_up(self, names: set[str]) -> None:
        """Let Java die if it runs what makes it die."""
        beside = {
            portion.name
            for task, _ in self.pending
            if isinstance(task, t.Evaluate)
            for group in task.groups
            for portion in group
        }
        if names & self.bombs or len((names | beside) & self.pairs) > 1:
            self.alive = False
            self.deaths += 1
            raise SparkGoneError("Spark died of a run")

    def revive(self) -> dict[str, str]:
        if not self.alive:
            if not self.revivable:
                raise SparkGoneError("Spark died, and nobody starts it")
            if self.failing_starts:
                self.failing_starts -= 1
                raise HeadgateError(f"Spark did not start, {self.failing_starts} failures to come")
            self.alive, self.spark = True, self.spark + 1
        return {}

    def write(self, task: t.WriteCommit) -> t.WrittenCommit:
        self.commits += 1
        for name in task.outputs:
            taken = self.taken.setdefault(name, [])
            taken.append((taken[-1][1] if taken else 0, next(iter(task.positions[name].values()))))
        return t.WrittenCommit(self.commits, self.now)

    @property
    def states(self) -> dict[str, QueryState]:
        return {name: life.state for name, life in self.machine.context.lives.items()}


def started(seed: int, **settings: Any) -> World:
    world = World(seed, **settings)
    world.ask(m.DeclareStream, STREAM)
    world.settle()
    world.ask(m.DeclareClass, QueryClass("c"))
    world.settle()
    for name in ("one", "two", "paused"):
        world.add(name)
    world.add("sinking", sink="table, name=results")
    world.settle()
    world.ask(m.Pause, "paused")
    world.settle()
    return world


@pytest.mark.parametrize("seed", range(60))
def test_queries_go_on_wherever_spark_dies(seed: int) -> None:
    world = started(seed)
    world.add("ahead", start=world.now + 10.0)
    world.settle()
    for _ in range(60):
        deed = world.random.random()
        if deed < 0.3:
            world.append(world.random.randint(1, 5))
        elif deed < 0.4:
            world.alive = False
        elif deed < 0.5:
            world.ask(world.random.choice([m.Pause, m.Resume]), "two")
        else:
            world.step()
    world.settle()
    world.ask(m.Resume, "two")
    world.append(1)
    world.settle()
    world.now += 20.0
    world.settle()
    world.append(1)
    world.settle()
    assert world.alive
    assert world.states.pop("paused") is QueryState.PAUSED
    running = {name for name, state in world.states.items() if state is QueryState.RUNNING}
    assert running == {"one", "two", "sinking", "ahead"}
    for name in ("one", "two", "sinking"):
        assert world.taken[name][-1][1] == world.end
        assert all(first < last for first, last in world.taken[name]), "a train was committed twice"
        assert world.delivered[name] == sorted(set(world.delivered[name]))
        assert len(world.delivered[name]) == len(world.taken[name])
    assert world.machine.views.drained
    assert world.machine.runs.restart_reason == ""
    assert len(world.replies) == world.tickets


@pytest.mark.parametrize("seed", range(20))
def test_without_a_spark_everything_that_runs_is_suspended(seed: int) -> None:
    world = started(seed, revivable=False)
    world.append(3)
    world.alive = False
    world.append(3)
    world.settle()
    assert world.states.pop("paused") is QueryState.PAUSED
    assert {state for name, state in world.states.items() if name != "paused"} == {QueryState.SUSPENDED}
    assert all("nobody starts it" in life.error for life in world.machine.context.lives.values() if life.error)
    assert world.machine.views.overview().spark_error == "Spark died, and nobody starts it"
    assert world.log_texts.count("Spark does not come back") >= 1


@pytest.mark.parametrize("seed", range(20))
def test_an_engine_can_be_closed_while_spark_is_away(seed: int) -> None:
    world = started(seed)
    for _ in range(10):
        world.append(1)
        if world.random.random() < 0.2:
            world.alive = False
        for _ in range(world.random.randint(0, 5)):
            world.step()
    world.alive = world.alive and world.random.random() < 0.5
    ticket = world.ask(m.Close, 10.0)
    world.settle()
    world.now += 20.0
    world.settle()
    assert ticket in world.replies


def with_bombs(seed: int, fuse: Fuse, **settings: frozenset[str]) -> World:
    """Ten queries of one form over some rows, some of which make Java die."""
    world = World(seed, fuse=fuse, **settings)  # type: ignore[arg-type]
    world.ask(m.DeclareStream, STREAM)
    world.settle()
    world.ask(m.DeclareClass, QueryClass("c"))
    world.settle()
    for number in range(10):
        world.add(f"q{number}")
    world.settle()
    for _ in range(10):
        world.append(1)
        for _ in range(world.random.randint(0, 4)):
            world.step()
    world.settle()
    return world


@pytest.mark.parametrize("fuse", [Fuse.OFF, Fuse.ALL])
@pytest.mark.parametrize("seed", range(10))
def test_a_query_that_makes_java_die_is_suspended_and_the_others_go_on(seed: int, fuse: Fuse) -> None:
    bombs = frozenset({"q2", "q7"})
    world = with_bombs(seed, fuse, bombs=bombs)
    for name, life in world.machine.context.lives.items():
        if name in bombs:
            assert life.state is QueryState.SUSPENDED
            assert "times while this query ran, the last time with nothing beside it" in life.error
        else:
            assert life.state is QueryState.RUNNING
            assert world.taken[name][-1][1] == world.end
            assert not life.suspicion.runs_alone
    assert world.deaths <= 3 * len(bombs)
    assert world.machine.views.drained

    world.ask(m.Resume, "q2")  # it is known: one more death, and only of itself
    before = world.deaths
    world.append(1)
    world.settle()
    assert world.deaths == before + 1
    assert world.states["q2"] is QueryState.SUSPENDED
    assert world.taken["q1"][-1][1] == world.end


@pytest.mark.parametrize("seed", range(10))
def test_queries_that_make_java_die_only_together_do_so_ever_more_rarely(seed: int) -> None:
    world = with_bombs(seed, Fuse.OFF, pairs=frozenset({"q0", "q1", "q2"}))
    for _ in range(300):
        world.append(1)
        world.step()
        world.step()
    world.settle()
    assert set(world.states.values()) == {QueryState.RUNNING}
    assert all(world.taken[name][-1][1] == world.end for name in world.states)
    assert world.deaths < 30


@pytest.mark.parametrize("seed", range(5))
def test_a_restart_that_fails_is_tried_again_with_growing_pauses_until_it_succeeds(seed: int) -> None:
    world = started(seed)
    world.append(3)
    world.alive, world.failing_starts = False, 8
    tried = []
    while not world.alive:
        before = world.failing_starts
        world.step()
        world.send(m.TimePassed())
        if world.failing_starts < before:
            tried.append(world.now)
            assert f"{world.failing_starts} failures to come" in world.machine.views.overview().spark_error
            assert f"{world.failing_starts} failures to come" in {
                life.error.rpartition("start, ")[2] for life in world.machine.context.lives.values()
            }
    pauses = [later - sooner for sooner, later in pairwise(tried)]
    assert pauses[-1] > 30 > 10 > pauses[2]
    world.settle()
    world.append(1)
    world.settle()
    assert world.states == {"one": "running", "two": "running", "paused": "paused", "sinking": "running"}
    assert world.taken["one"][-1][1] == world.end
    assert world.machine.views.overview().spark_error == ""
