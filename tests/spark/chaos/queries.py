"""The queries of the simulation, and what each gives, computed from all tuples at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.spark.chaos.streams import NAMES, StreamModel, Tuple, stream

from headgate.model import Operator
from headgate.plan.sql import plan_sql
from headgate.spark.compile.read_sets import sources

SIZE = 5_000_000  # microseconds of a window
NEAR = 3_000_000  # within which two tuples are a pair
Range = tuple[int, int]  # offsets [first, last) of a stream
Span = tuple[Range, ...]  # one for each leaf, from left to right
Rows = Counter[tuple[Any, ...]]
FAMILIES = ("flat", "counts", "pairs")  # queries of one family give the same columns


@dataclass(frozen=True)
class Text:
    """The SQL of a query, with what the oracle must know of it."""

    kind: str
    streams: tuple[str, ...]
    number: int

    @property
    def family(self) -> str:
        return self.kind if self.kind in FAMILIES else "flat"

    @property
    def sql(self) -> str:
        first, second = self.streams[0], self.streams[-1]
        return {
            "flat": f"SELECT k, v FROM {first} WHERE v > {self.number}",
            "chain": f"SELECT k, v + 1 AS v FROM (SELECT * FROM {first} WHERE v > {self.number}) WHERE k < 2",
            "divide": f"SELECT k, 7 % v AS v FROM {first} WHERE v < {self.number + 4}",
            "union": f"SELECT k, v FROM {first} WHERE v > {self.number} UNION ALL SELECT k, v FROM {second}",
            "counts": f"SELECT window.start AS t, k, COUNT(*) AS n FROM {first} WHERE v > {self.number} "
            "GROUP BY window(ts, '5 seconds'), k",
            "pairs": f"SELECT x.k AS k, x.v AS v, y.v AS w FROM {first} x JOIN {second} y ON x.k = y.k "
            "AND y.ts BETWEEN x.ts - INTERVAL 3 SECONDS AND x.ts + INTERVAL 3 SECONDS "
            f"WHERE x.v > {self.number}",
        }[self.kind]

    def results(self, known: Mapping[str, StreamModel], span: Span, *, ends: bool = False) -> Rows:
        """All that it gives for these offsets; with `ends` its streams end there, as they do for a one-time query."""
        first, *rest = [_between(known[name], *each) for name, each in zip(self.leaves, span, strict=True)]
        match self.kind:
            case "flat":
                return Counter((row.k, row.v) for row in first if row.v > self.number)
            case "chain":
                return Counter((row.k, row.v + 1) for row in first if row.v > self.number and row.k < 2)
            case "divide":
                return Counter((row.k, 7 % row.v) for row in first if 0 < row.v < self.number + 4)
            case "union":
                return Counter(
                    [*((row.k, row.v) for row in first if row.v > self.number), *((r.k, r.v) for r in rest[0])]
                )
            case "counts":
                return self._counts(known[self.streams[0]], first, span[0], ends)
        return Counter(
            (x.k, x.v, y.v)
            for x in first
            for y in rest[0]
            if x.v > self.number and x.k == y.k and abs(x.ts - y.ts) <= NEAR and not x.late and not y.late
        )

    def _counts(self, known: StreamModel, rows: list[Tuple], span: Range, ends: bool) -> Rows:
        old, new = known.frontier(span[0]), float("inf") if ends else known.frontier(span[1])
        found = Counter((row.ts // SIZE * SIZE, row.k) for row in rows if row.v > self.number and not row.late)
        return Counter((start, k, count) for (start, k), count in found.items() if old < start + SIZE <= new)

    def failing(self, known: Mapping[str, StreamModel], span: Span) -> list[int]:
        """The offsets of tuples on which an expression fails."""
        if self.kind != "divide":
            return []
        tuples = known[self.streams[0]].tuples
        return [at for at in range(*span[0]) if (one := tuples[at]) is not None and one.v == 0]

    @property
    def leaves(self) -> tuple[str, ...]:
        """The streams of its leaves, from left to right."""
        return (self.streams[0], self.streams[-1]) if self.kind in ("union", "pairs") else self.streams[:1]

    @property
    def plan(self) -> Operator:
        return plan_of(self.sql)


def _between(known: StreamModel, first: int, last: int) -> list[Tuple]:
    return [each for each in known.tuples[first:last] if each is not None]


@cache
def plan_of(sql: str) -> Operator:
    return plan_sql(sql, {name: stream(name) for name in NAMES})


@cache
def leaves_of(sql: str) -> tuple[tuple[tuple[int, ...], str], ...]:
    """The places of a query's leaves, and their streams, from left to right."""
    return tuple((place, source.stream) for place, source in sources(plan_of(sql)))


def any_text(chance: random.Random, family: str) -> Text:
    """Some query of a family."""
    kind = chance.choice(("flat", "chain", "divide", "union")) if family == "flat" else family
    return Text(kind, tuple(chance.choices(NAMES, k=2)), chance.randrange(3))
