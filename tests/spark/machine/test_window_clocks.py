"""Windows are checked once for many queries and not at every append: no query is late to learn that one can close."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model import EventTime, Stream
from headgate.plan.fusion_template import template
from headgate.plan.sql import plan_sql
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.read_sets import Survey, sources
from headgate.spark.compile.time_spans import ALWAYS
from headgate.spark.machine.window_clocks import FOLDED_AT, LOOK_AHEAD, WindowClocks

SCHEMA = (("id", "bigint"), ("ts", "timestamp"))
STREAMS = {name: Stream(name=name, schema=SCHEMA, event_time="ts") for name in "ab"}
JOIN = "a x JOIN b y ON x.id = y.id AND y.ts BETWEEN x.ts - INTERVAL 1 SECOND AND x.ts + INTERVAL 2 SECONDS"
TEXTS = {
    "tumbling": "SELECT count(*) AS n FROM a GROUP BY window(ts, '1 second')",
    "alike": "SELECT sum(id) AS n FROM a WHERE id > 3 GROUP BY window(ts, '1 second')",
    "sliding": "SELECT count(*) AS n FROM a GROUP BY window(ts, '3 seconds', '1 second')",
    "other": "SELECT count(*) AS n FROM b GROUP BY window(ts, '2 seconds')",
    "joined": f"SELECT count(*) AS n FROM (SELECT x.id, x.ts AS ts FROM {JOIN}) GROUP BY window(ts, '1 second')",
}


@dataclass
class Query:
    """As much of a running query as windows need."""

    name: str
    layout: Any = field(default_factory=lambda: SimpleNamespace(whole=True))

    def __post_init__(self) -> None:
        self.query = SimpleNamespace(plan=plan_sql(TEXTS[self.name], STREAMS))
        self.unfragmented = SimpleNamespace(leaves=dict(sources(self.query.plan)))

    def resume_point(self) -> Query:
        return self

    def closed(self, frontiers: dict[str, EventTime]) -> tuple[EventTime, ...]:
        return self._survey(frontiers, frontiers).closed_windows()

    def closes(self, old: dict[str, EventTime | None], new: dict[str, EventTime | None]) -> bool:
        return self._survey(old, new).closes()

    def _survey(self, old: Any, new: Any) -> Survey:
        leaves = {
            place: Leaf(source.stream, Range(0, 0), old[source.stream], new[source.stream])
            for place, source in sources(self.query.plan)
        }
        return Survey(self.query.plan, STREAMS, leaves, lambda *_: ALWAYS)


class Logs:
    """The streams' frontiers by offset: one more offset with every append."""

    def __init__(self) -> None:
        self.frontiers: dict[str, list[float]] = {name: [-inf] for name in "ab"}

    def frontier(self, stream: str, offset: int) -> float:
        return self.frontiers[stream][offset]

    def folds(self, query: Query) -> bool:
        return query.name in ("tumbling", "sliding")

    def window_key(self, query: Query) -> Any:
        query_template = template(query.query.plan)
        return query.name if query_template is None else query_template.form

    def closed(self, query: Query, frontiers: dict[str, EventTime]) -> tuple[EventTime, ...]:
        return query.closed(frontiers)


STEPS = (0, 30_000, 70_000, 99_999, 150_000, 950_000)  # most are shorter than what a look looks ahead


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(STEPS)), min_size=20, max_size=60))
def test_a_query_hears_of_its_windows_exactly_when_they_close(appends: list[tuple[str, int]]) -> None:
    logs, ends = Logs(), dict.fromkeys("ab", 0)
    windows = WindowClocks(cast(Any, logs))
    queries = [Query(name) for name in TEXTS]
    for query in queries:
        windows.enter(cast(Any, query), ends)
    last_due = {query.name: dict.fromkeys("ab") for query in queries}  # the frontiers when each heard last
    for stream, step in appends:
        mine = logs.frontiers[stream]
        mine.append(max(mine[-1], 0) + step)
        ends[stream] += 1
        now = {name: None if reached[-1] == -inf else reached[-1] for name, reached in logs.frontiers.items()}
        heard = {running.name for running in windows.due(stream, ends)}
        for query in queries:
            assert (query.name in heard) == query.closes(cast(Any, last_due[query.name]), cast(Any, now)), query.name
            if query.name in heard:
                last_due[query.name] = cast(Any, now)


def test_queries_that_left_hear_nothing() -> None:
    logs, ends = Logs(), dict.fromkeys("ab", 0)
    windows = WindowClocks(cast(Any, logs))
    stays, goes = Query("tumbling"), Query("alike")
    for query in (stays, goes):
        windows.enter(cast(Any, query), ends)
    windows.leave(cast(Any, goes))
    logs.frontiers["a"].append(LOOK_AHEAD + 5_000_000)
    ends["a"] = 1
    assert [running.name for running in windows.due("a", ends)] == ["tumbling"]


def test_queries_with_panes_hear_of_many_held_tuples_too() -> None:
    logs, ends = Logs(), dict.fromkeys("ab", 0)
    logs.frontiers = {name: Still(100_000) for name in "ab"}
    windows = WindowClocks(cast(Any, logs))
    for name in ("tumbling", "alike", "sliding", "other"):
        windows.enter(cast(Any, Query(name)), ends)

    def heard(stream: str, tuples: int) -> set[str]:
        ends[stream] += tuples
        return {running.name for running in windows.due(stream, ends)}

    assert heard("a", FOLDED_AT - 1) == set()
    assert heard("a", 1) == {"tumbling", "sliding"}  # the others have nothing to do before a window closes
    assert heard("a", FOLDED_AT - 1) == set()
    logs.frontiers["a"] = Still(1_000_000)
    assert heard("a", 0) == {"tumbling", "alike", "sliding"}  # a window of each has closed
    assert heard("a", FOLDED_AT - 1) == set()
    assert heard("b", FOLDED_AT) == set()


class Still(list[float]):
    """A frontier that is the same at every offset."""

    def __init__(self, frontier: float) -> None:
        super().__init__([frontier])

    def __getitem__(self, offset: Any) -> Any:
        return super().__getitem__(0)
