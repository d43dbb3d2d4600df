"""The engine's state machine without threads, disk and Spark: tasks are answered in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from random import Random
from typing import Any

from headgate.model import HeadgateError, Level, Query, Source, Stream
from headgate.plan.fusion import Fuse
from headgate.plan.places import Place
from headgate.plan.sql import plan_sql
from headgate.spark.arguments import quality
from headgate.spark.compile.read_sets import sources
from headgate.spark.engine.catalog_entries import stored_class
from headgate.spark.engine.initial_state import new_scheduler
from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t
from headgate.spark.machine.definitions import CLASSES, DROPPED, SETTINGS, TABLES, declared_query
from headgate.spark.machine.interfaces import Chunks, RememberedQuery, keyed, query_description
from headgate.spark.machine.machine import Machine

STREAMS = {name: Stream(name=name, schema=(("id", "bigint"), ("v", "int"))) for name in "ab"}
OF_RUNS = (
    t.Evaluate,
    t.Deliver,
    t.StoreDeadLetters,
    t.CloseSink,
    t.CheckWindows,
    t.Maintain,
    t.DropTuples,
    t.DiscardFragmentLogs,
)


@dataclass(frozen=True)
class Column:
    name: str
    type: str = "bigint"


@dataclass(frozen=True, eq=False)
class OneFragment:
    """A query as one fragment, even if a level demands more."""

    leaves: Mapping[Place, Source]
    level: Level | None = None
    place: Place = ()
    held: tuple[Place, ...] = ()
    feeds_name: str | None = None

    @property
    def fragments(self) -> tuple[OneFragment, ...]:
        return (self,)

    @property
    def whole(self) -> bool:
        return self.level is None

    def cut(self) -> dict[str, Any] | None:
        return None if self.whole else {"level": str(self.level)}


@dataclass
class NoFacts:
    """Logs that keep everything, without event times."""

    ends: Mapping[str, int] = field(default_factory=dict)

    def start(self, stream: str) -> int:
        return 0

    def end(self, stream: str) -> int:
        return self.ends.get(stream, 0)

    def frontier(self, stream: str, offset: int) -> float:
        return -inf

    def ended(self, stream: str) -> bool:
        return False

    def require(self, stream: str, offset: int) -> None:
        return None

    def folds(self, resume_point: Any) -> bool:
        return False

    def window_key(self, resume_point: Any) -> str:
        return str(resume_point.name)

    def closed(self, resume_point: Any, frontiers: Any) -> tuple[float, ...]:
        return ()

    def can_close(self, resume_point: Any, fragment: Any, ends: Any) -> bool:
        return True


def with_a_run() -> StandIn:
    """An engine with a query and a run that nobody has answered yet."""
    engine = StandIn()
    engine.ask(m.AddQuery, query("q", "SELECT id FROM a"))
    engine.answer_all()
    engine.append("a", 5)
    assert [type(task) for task in engine.pending] == [t.Evaluate]
    return engine


def query(
    name: str, sql: str, query_class: str = "low", *, qos: bool = False, once: bool = False, lag: str | None = None
) -> Query:
    return Query(
        name=name,
        query_class=query_class,
        plan=plan_sql(sql, STREAMS),
        sql=sql,
        qos=quality([(0.0, 1.0), (1.0, 0.0)]) if qos else None,
        since="start" if once else "now",
        once=once,
        lag=lag,
    )


@dataclass
class StandIn:
    """A machine, the tasks that it has submitted, and what commits and sinks hold."""

    machine: Machine = field(init=False)
    pending: list[t.Task] = field(default_factory=list)
    replies: dict[int, t.Reply] = field(default_factory=dict)
    descriptions: dict[str, Any] = field(default_factory=dict)  # of queries, in commits
    catalog: dict[str, dict[str, Any]] = field(default_factory=dict)  # in commits, by kind and name
    positions: dict[str, dict[str, int]] = field(default_factory=dict)
    sinks: dict[str, list[Any]] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, 0))
    number: int = 0
    tickets: int = 0
    now: float = 1.0

    def __post_init__(self) -> None:
        policy = self.catalog.get(SETTINGS, {}).get("policy", "fcfs")
        self.machine = Machine(
            new_scheduler(policy, Fuse.OFF, 1, 2, None),
            NoFacts(self.ends),
            workers=2,
            remembered={
                name: RememberedQuery(description, self.positions.get(name, {}))
                for name, description in self.descriptions.items()
            },
            catalog=self.catalog,
        )
        for name, stream in STREAMS.items():
            if name not in self.catalog.get(DROPPED, {}):
                self.ask(m.DeclareStream, stream)
        for name, entry in self.catalog.get(TABLES, {}).items():
            self.ask(m.DeclareTable, name, entry)
        classes = self.catalog.get(CLASSES) or {"low": {"priority": 1.0}, "high": {"priority": 10.0}}
        for name, entry in classes.items():
            self.ask(m.DeclareClass, stored_class(name, entry))
        self.answer_all()

    def restarted(self) -> StandIn:
        """Another engine on the same commits, to which its queries have come back as `engine.restoring` sends them."""
        engine = StandIn(
            descriptions=dict(self.descriptions),
            catalog=_copied(self.catalog),
            positions=_copied(self.positions),
            ends=dict(self.ends),
            number=self.number,
            now=self.now,
        )
        for name, description in self.descriptions.items():
            query = declared_query(name, description, plan_sql(description["sql"], STREAMS))
            times = description.get("begins"), description.get("ends")
            lacks = ("its callback",) if query.sink == "callback" else ()
            engine.ask(m.AddQuery, query, *times, "files", 0.0, None, lacks)
        engine.answer_all()
        return engine

    def ask(self, kind: Any, *given: Any) -> int:
        """Give a command; its ticket."""
        self.tickets += 1
        self.handle(kind(self.tickets, *given))
        return self.tickets

    def append(self, stream: str, count: int) -> None:
        self.ends[stream] += count
        self.handle(m.Appended(stream, self.ends[stream], ((1.0, count),)))

    def answer_all(self, fail: int | None = None) -> None:
        """Answer tasks until there are none; the one with this number, of those that commands lead to, fails."""
        count = 0
        while self.pending:
            task = self.pending.pop(0)
            fails = not _of_a_run(task) and count == fail
            count += not _of_a_run(task)
            if fails:
                self.handle(m.Answer(task, error=HeadgateError("it was made to fail")))
            else:
                self.handle(m.Answer(task, self.perform(task)))

    def take(self, kind: type[t.Task]) -> Any:
        """Remove and return the first task of a kind that waits."""
        task = next(task for task in self.pending if isinstance(task, kind))
        self.pending.remove(task)
        return task

    def answer(self, kind: type[t.Task]) -> None:
        """Answer the first task of a kind."""
        task = self.take(kind)
        self.handle(m.Answer(task, self.perform(task)))

    def answer_one(self, random: Random, failing: float) -> None:
        """Answer any of the tasks that wait; some fail, those of sinks and commits too."""
        if not self.pending:
            return
        task = self.pending.pop(random.randrange(len(self.pending)))
        if random.random() < failing:
            self.handle(m.Answer(task, error=HeadgateError("it was made to fail")))
        else:
            self.handle(m.Answer(task, self.perform(task)))

    def handle(self, message: m.Message) -> None:
        for out in self.machine.handle(message, self.now):
            if isinstance(out, t.Task):
                self.pending.append(out)
            elif isinstance(out, t.Reply) and out.ticket:
                assert out.ticket not in self.replies, "answered twice"
                self.replies[out.ticket] = out

    # -- tasks -------------------------------------------------------------------------------------------------

    def perform(self, task: t.Task) -> Any:
        match task:
            case t.OpenStream():
                return 0
            case t.CheckQuery():
                named = str(task.query.sql).removeprefix("SELECT ").split(" FROM ")[0]
                columns = tuple(Column(name.strip()) for name in named.split(","))
                return t.CheckedQuery(OneFragment(dict(sources(task.query.plan))), columns=columns)
            case t.CheckQueries():
                return [self.perform(check) for check in task.checks]
            case t.FindUndelivered() | t.CheckWindows():
                return []
            case t.FindPositions():
                return dict(task.resume_point.positions)
            case t.Prepare():
                return self._prepare(task)
            case t.PrepareTogether():
                return self._prepare_together(task)
            case t.Evaluate():
                return [self._evaluate(portion) for group in task.groups for portion in group]
            case t.WriteCommit():
                return self._write(task)
            case t.Deliver():
                self.sinks.setdefault(task.query, []).extend(rows for _, output in task.batch for rows in output)
        return {}

    def _prepare(self, task: t.Prepare) -> t.Prepared:
        resume_point = task.resume_point
        layout = OneFragment(resume_point.layout.leaves, task.level)
        was_cut = task.reopen is not None or not resume_point.layout.whole
        writes = task.commit_description or was_cut == layout.whole
        if writes:
            description = query_description(resume_point) | ({} if layout.whole else {"cut": layout.cut()})
            self._commit({resume_point.name: description}, {resume_point.name: keyed(resume_point.positions)})
        backlog: dict[Place, Chunks] = {
            place: ((1.0, behind),)
            for place, source in layout.leaves.items()
            if (behind := task.ends[source.stream] - resume_point.positions[place]) > 0
        }
        return t.Prepared(layout, dict(resume_point.positions), {}, backlog, description_committed=writes)

    def _prepare_together(self, task: t.PrepareTogether) -> list[t.Prepared]:
        """With one commit for all that are to be described."""
        described = [each.resume_point for each in task.tasks if each.commit_description]
        if described:
            self._commit(
                {point.name: query_description(point) for point in described},
                {point.name: keyed(point.positions) for point in described},
            )
        prepared = [self._prepare(replace(each, commit_description=False)) for each in task.tasks]
        for each, found in zip(task.tasks, prepared, strict=True):
            found.description_committed = each.commit_description
        return prepared

    def _evaluate(self, portion: t.Portion) -> t.PortionResult:
        rows = [(place, offset) for place, taken in portion.offsets.items() for offset in range(*taken)]
        return t.PortionResult(
            portion, output=rows, size=len(rows), count=len(rows), tuples=len(rows), arrived=len(rows)
        )

    def _write(self, task: t.WriteCommit) -> t.WrittenCommit:
        self._commit(task.queries, task.positions)
        for kind, entries in task.catalog.items():
            changed = {**self.catalog.get(kind, {}), **entries}
            self.catalog[kind] = {name: entry for name, entry in changed.items() if entry is not None}
        self.number += 1
        return t.WrittenCommit(self.number, 1.0)

    def _commit(self, queries: Mapping[str, Any], positions: Mapping[str, Mapping[str, int]]) -> None:
        for name, offsets in positions.items():
            self.positions[name] = {**self.positions.get(name, {}), **offsets}
        for name, description in queries.items():
            if description is None:
                self.descriptions.pop(name, None)
                self.positions.pop(name, None)
            else:
                self.descriptions[name] = description

    # -- what can be seen --------------------------------------------------------------------------------------

    def seen(self) -> dict[str, Any]:
        """Everything that somebody could notice, now or later."""
        machine = self.machine
        scheduler = machine.scheduling.scheduler
        return {
            "queries": {name: dict(_of(self, name)) for name in machine.context.lives},
            "network": (dict(scheduler.network.queries), dict(scheduler.network.classes)),
            "policy": (str(scheduler.policy), scheduler.fuse, machine.preparation.level),
            "steering": (machine.policy_changes.failed, machine.policy_changes._policy, machine.policy_changes._former),
            "streams": (dict(machine.scheduling.ends), dict(machine.declarations.relations)),
            "commits": (dict(self.descriptions), dict(self.positions), _copied(self.catalog)),
            "remembered": dict(machine.context.remembered),
            "sinks": {name: sorted(rows) for name, rows in self.sinks.items()},
            "outboxes": sorted(outbox.query for outbox in machine.delivery.outboxes.values()),
            "under way": (
                len(machine.runs.active_runs),
                list(machine.context._then),
                machine.policy_changes._changing,
            ),
            "timers": len(machine.context._timers),
            "drained": machine.views.drained,
        }


def _copied(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: dict(inner) for name, inner in entries.items()}


def _of(engine: StandIn, name: str) -> Iterator[tuple[str, Any]]:
    life, scheduling = engine.machine.context.lives[name], engine.machine.scheduling
    yield "state", (life.state, life.error, life.busy, life.entered, len(life.deferred), life.when_idle)
    yield "query", (life.query, life.columns, life.layout is not None and life.layout.level)
    yield "place", (life.positions, life.starts, life.until, life.fragment_log_ends, life.skipped)
    yield "waits", scheduling.backlog_size(life)
    yield "tally", (life.tally.tuples_in, life.tally.tuples_out)
    yield "outbox", (life.outbox is None or (life.outbox.size, life.outbox.error, life.outbox.query_gone))


def _of_a_run(task: t.Task) -> bool:
    """Tasks that no command waits for."""
    if isinstance(task, t.WriteCommit):
        return bool(task.run) or any(description and description.get("done") for description in task.queries.values())
    return isinstance(task, OF_RUNS)
