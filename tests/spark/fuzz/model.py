"""What must be true by the rules alone: which rows are late, and which rows each query reads."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tests.spark.fuzz.case import Case, QueryDef, Row, StreamDef, Tree
from tests.spark.fuzz.data import FUTURE, SECOND

Offsets = dict[str, int]  # by stream


@dataclass(slots=True)
class StreamModel:
    """A stream's rows with an offset each, and whether they are late."""

    stream: StreamDef
    rows: list[Row] = field(default_factory=list)
    late: list[bool] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    end: int = 0  # the marker of a stream's end takes an offset too
    missing: int = 0  # rows without an event time, or with one in the future, have none
    frontier: float = -math.inf

    def append(self, rows: list[Row]) -> int:
        """Take an append: a row is late if it lies strictly below the frontier of all earlier ones."""
        taken = [row for row in rows if row[-1] is not None and row[-1] < FUTURE]
        self.missing += len(rows) - len(taken)
        late = [row[-1] < self.frontier for row in taken]
        self.rows += taken
        self.late += late
        self.offsets += range(self.end, self.end + len(taken))
        self.end += len(taken)
        highest = max((row[-1] for row, behind in zip(taken, late, strict=True) if not behind), default=-math.inf)
        self.frontier = max(self.frontier, highest - round(self.stream.watermark * SECOND))
        return len(taken)

    def finish(self) -> None:
        if self.frontier < math.inf:
            self.end += 1
        self.frontier = math.inf


@dataclass(slots=True)
class Span:
    """SQL that a query had from some offsets on, to others; `exact` if it had read all of them."""

    tree: Tree
    starts: Offsets
    ends: Offsets | None = None
    exact: bool = True


@dataclass(slots=True)
class QueryModel:
    """Where a query is by what was asked of it."""

    query: QueryDef
    state: str = "waiting"  # then running, paused, stopped
    spans: list[Span] = field(default_factory=list)
    settled: Offsets | None = None  # where it stands, if that is certain
    replaced: int = 0
    query_class: str = ""
    started: str = "now"
    lost: bool = False  # a sink that lasts as long as the process may lack results

    @property
    def tree(self) -> Tree:
        return self.spans[-1].tree if self.spans else self.query.tree

    @property
    def alive(self) -> bool:
        return self.state in ("running", "paused")


class Model:
    """All streams and queries of a case."""

    def __init__(self, case: Case) -> None:
        self.streams = {each.name: StreamModel(each) for each in case.streams}
        self.queries = {each.name: QueryModel(each, query_class=each.query_class) for each in case.queries}

    @property
    def ends(self) -> Offsets:
        return {name: each.end for name, each in self.streams.items()}

    def start(self, name: str, since: str) -> None:
        """From now on, or `since` the start of what is kept, which nobody knows here: `once` too."""
        query = self.queries[name]
        query.state, query.started, query.settled = "running", since, self.ends
        if since != "now" and any(self.ends.values()):
            nothing = dict.fromkeys(self.streams, 0)
            query.spans.append(Span(query.query.tree, nothing, self.ends, exact=False))
        if since != "once":
            query.spans.append(Span(query.query.tree, self.ends))

    def arrived(self) -> None:
        for query in self.queries.values():
            if query.state == "running":
                query.settled = None

    def drained(self) -> None:
        for query in self.queries.values():
            if query.state == "running":
                query.settled = self.ends

    def replace(self, name: str) -> Tree:
        """It goes on where it stands, with the other of its two trees."""
        query = self.queries[name]
        assert query.settled is not None
        query.replaced += 1
        tree = query.query.other if query.replaced % 2 else query.query.tree
        self._end(query)
        query.spans.append(Span(tree, query.settled))
        return tree

    def stop(self, name: str) -> None:
        query = self.queries[name]
        self._end(query)
        query.state = "stopped"

    def _end(self, query: QueryModel) -> None:
        last = query.spans[-1]
        last.ends, last.exact = query.settled or self.ends, query.settled is not None

    def restarted(self) -> None:
        """What only a process held is lost; paused queries are paused as before."""
        for query in self.queries.values():
            query.lost = query.lost or (query.alive and query.query.sink == "memory")
