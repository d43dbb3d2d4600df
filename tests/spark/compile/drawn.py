"""Random queries of any nesting: every operator over every other, each with columns `id` and `ts`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

EQUAL = "{0}.id = {1}.id AND {0}.ts = {1}.ts"


@dataclass
class Drawing:
    """The sub-queries drawn so far, as common table expressions; some are used again, so that sub-plans are shared."""

    random: Random
    streams: Sequence[str]
    reach: float = 0.0  # seconds of all windows and bounds together
    parts: list[str] = field(default_factory=list)

    def sql(self, depth: int) -> str:
        last = self._relation(depth)
        named = ", ".join(f"q{number} AS ({part})" for number, part in enumerate(self.parts))
        return f"WITH {named} SELECT * FROM {last}"

    def _relation(self, depth: int) -> str:
        if depth == 0:
            return self._named(f"SELECT id, ts FROM {self.random.choice(self.streams)}")
        if self.parts and self.random.random() < 0.15:
            return f"q{self.random.randrange(len(self.parts))}"
        kinds = (self._filter, self._union, self._aggregate, self._tumble, self._join, self._equal_join, self._except)
        return self._named(self.random.choice(kinds)(depth - 1))

    def _named(self, text: str) -> str:
        self.parts.append(text)
        return f"q{len(self.parts) - 1}"

    def _inputs(self, depth: int) -> tuple[str, str]:
        """Two relations in random order, one of full depth, one of any."""
        relations = [self._relation(depth), self._relation(self.random.randint(0, depth))]
        self.random.shuffle(relations)
        return relations[0], relations[1]

    def _filter(self, depth: int) -> str:
        return f"SELECT id, ts FROM {self._relation(depth)} WHERE id > 1"

    def _union(self, depth: int) -> str:
        return " UNION ALL ".join(f"SELECT id, ts FROM {relation}" for relation in self._inputs(depth))

    def _aggregate(self, depth: int) -> str:
        slide = self._seconds()
        size = slide * self.random.randint(1, 3) + self.random.choice((0, 1)) * (slide - 1)
        self.reach += size
        end = self.random.choice(("start", "end"))
        window = f"window(ts, '{size} seconds', '{slide} seconds')"
        return f"SELECT count(*) AS id, window.{end} AS ts FROM {self._relation(depth)} GROUP BY {window}"

    def _tumble(self, depth: int) -> str:
        return self._tumbled(self._relation(depth), self._seconds(), self.random.choice(("start", "end")))

    def _tumbled(self, relation: str, size: int, end: str) -> str:
        self.reach += size
        return f"SELECT id, window_{end} AS ts FROM TUMBLE({relation}, ts, INTERVAL {size} SECONDS)"

    def _join(self, depth: int) -> str:
        left, right = self._inputs(depth)
        low, high = self._seconds(), self._seconds()
        self.reach += low + high
        bound = f"y.ts BETWEEN x.ts - INTERVAL {low} SECONDS AND x.ts + INTERVAL {high} SECONDS"
        return f"SELECT x.id, {self._side()}.ts FROM {left} x JOIN {right} y ON x.id = y.id AND {bound}"

    def _equal_join(self, depth: int) -> str:
        """A join on equal times, which are mostly starts of equal windows."""
        left, right = self._inputs(depth)
        if self.random.random() < 0.7:
            size = self._seconds()
            left, right = (self._named(self._tumbled(relation, size, "start")) for relation in (left, right))
        return f"SELECT x.id, {self._side()}.ts FROM {left} x JOIN {right} y ON {EQUAL.format('x', 'y')}"

    def _except(self, depth: int) -> str:
        size, end = self._seconds(), self.random.choice(("start", "end"))
        return " EXCEPT ".join(self._tumbled(relation, size, end) for relation in self._inputs(depth))

    def _side(self) -> str:
        return self.random.choice("xy")

    def _seconds(self) -> int:
        return self.random.randint(1, 9)


def drawn_queries(seed: int, streams: Sequence[str], deepest: int) -> Iterator[tuple[str, float]]:
    """Endless random queries, and how far back in seconds each may reach."""
    random = Random(seed)
    while True:
        drawing = Drawing(random, streams)
        yield drawing.sql(random.randint(1, deepest)), drawing.reach
