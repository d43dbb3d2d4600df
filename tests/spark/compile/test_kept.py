"""What is kept is all that any run to come reads, for any query and any cuts; and in the end nothing is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import inf
from random import Random

import pytest
from tests.spark.compile.drawn import drawn_queries

from headgate.model import Aggregate, EventTime, Except, Operator, Source, Stream
from headgate.plan.places import Place
from headgate.plan.sql import plan_sql
from headgate.spark.compile.fragment_stream import Ref
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.read_sets import Lows, Reading, Survey, sources
from headgate.spark.compile.time_spans import ALWAYS, NEVER, Span

SECOND = 1_000_000
QUERIES = 30  # of each seed
STREAMS = {
    name: Stream(name=name, schema=(("id", "bigint"), ("ts", "timestamp")), event_time="ts", watermark=2.0)
    for name in "abc"
}


@dataclass(frozen=True)
class Log:
    """Event times of a stream's tuples, and where its appends end; the last offset is the stream's end."""

    times: list[int]
    ends: list[int]

    @classmethod
    def drawn(cls, random: Random) -> Log:
        times: list[int] = []
        ends: list[int] = []
        high, pace = -inf, random.choice((0.2, 1.0, 4.0))
        clock = random.uniform(-20.0, 20.0)
        for _ in range(random.randint(0, 12)):
            for _ in range(random.randint(1, 5)):
                clock += random.expovariate(1 / pace)
                time = round((clock - random.uniform(0.0, 3.0)) * SECOND)
                if time >= high - 2 * SECOND:
                    times.append(time)
            high = max([high, *times])
            ends.append(len(times))
        return cls(times, ends)

    @property
    def end(self) -> int:
        return len(self.times) + 1

    def frontier_at(self, offset: int) -> EventTime | None:
        if offset == self.end:
            return inf
        settled = bisect_right(self.ends, offset)
        seen = self.times[: self.ends[settled - 1]] if settled else []
        return max(seen) - 2 * SECOND if seen else None

    def span(self, offsets: Range) -> Span:
        new = self.times[offsets.first : offsets.last]
        return Span(min(new), max(new)) if new else NEVER


@dataclass(frozen=True)
class Course:
    """Runs of one query, cut anywhere, over drawn logs."""

    plan: Operator
    logs: Mapping[str, Log]
    starts: Mapping[Place, int]

    @classmethod
    def drawn(cls, random: Random, plan: Operator) -> Course:
        logs = {name: Log.drawn(random) for name in STREAMS}
        since = {name: random.choice((0, random.randrange(log.end))) for name, log in logs.items()}
        return cls(plan, logs, {place: since[source.stream] for place, source in sources(plan)})

    def runs(self, random: Random) -> Iterator[Survey]:
        at = dict(self.starts)
        while any(offset < self._end(place) for place, offset in at.items()):
            upto = {
                place: random.randint(offset, min(self._end(place), offset + 12)) if random.random() < 0.6 else offset
                for place, offset in at.items()
            }
            yield self.survey(at, upto)
            at = upto

    def survey(self, at: Mapping[Place, int], upto: Mapping[Place, int]) -> Survey:
        leaves = {}
        for place, source in sources(self.plan):
            log = self.logs[source.stream]
            old, new = (log.frontier_at(cut[place]) for cut in (at, upto))
            leaves[place] = Leaf(source.stream, Range(at[place], upto[place]), old, new, self.starts[place])

        def train(place: Place, _: Ref) -> Span:
            return self.logs[leaves[place].stream].span(leaves[place].range)

        return Survey(self.plan, STREAMS, leaves, train)

    def _end(self, place: Place) -> int:
        return self.logs[dict(sources(self.plan))[place].stream].end


def leaves_of(reading: Reading) -> Iterator[Reading]:
    if isinstance(reading.node, Source):
        yield reading
    for input_reading in reading.inputs:
        yield from leaves_of(input_reading)


def covers(lows: Lows, reading: Reading) -> bool:
    return all(reading.times.get(ref, ALWAYS).low >= low for ref, low in lows.items())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_every_run_reads_only_what_was_kept_before_it(seed: int) -> None:
    random = Random(seed)
    read = 0
    for sql, reach in islice(drawn_queries(seed, "abc", 4), QUERIES):
        plan = plan_sql(sql, STREAMS)
        course = Course.drawn(random, plan)
        promised: list[tuple[Survey, dict[Place, list[Lows]]]] = []
        for survey in course.runs(random):
            at = {place: leaf.range.first for place, leaf in survey.leaves.items()}
            before = course.survey(at, at)
            promised.append((before, before.kept()))
            for leaf in (leaf for reading in survey.readings() for leaf in leaves_of(reading)):
                for then, kept in promised:
                    if leaf.offsets.first < then.leaves[leaf.place].range.first:
                        read += 1
                        assert any(covers(lows, leaf) for lows in kept[leaf.place]), (sql, leaf)
            frontiers = [leaf.frontier(False) for leaf in survey.leaves.values()]
            for lows in (lows for of_leaf in promised[-1][1].values() for lows in of_leaf):
                # Not more than windows and bounds reach, so that what streams leave behind can be dropped.
                assert all(low >= min(frontiers) - reach * SECOND for low in lows.values()), sql
        at_end = course.survey({place: course._end(place) for place in at}, {p: course._end(p) for p in at})
        assert all(inf in lows.values() for of_leaf in at_end.kept().values() for lows in of_leaf), sql
    assert read > QUERIES


@pytest.mark.parametrize("seed", [4, 6])
def test_a_run_begins_with_the_windows_that_the_one_before_it_left_open(seed: int) -> None:
    random = Random(seed)
    for sql, _ in islice(drawn_queries(seed, "abc", 4), QUERIES):
        plan = plan_sql(sql, STREAMS)
        windows = [(place, node) for place, node in _nodes(plan) if isinstance(node, Aggregate | Except)]
        left: list[EventTime] | None = None
        for survey in Course.drawn(random, plan).runs(random):
            begun = [survey.closed(node, place, False) for place, node in windows]
            assert left is None or begun == left, sql
            left = [survey.closed(node, place, True) for place, node in windows]


def _nodes(node: Operator | Source, place: Place = ()) -> Iterator[tuple[Place, Operator | Source]]:
    yield place, node
    for number, child in enumerate(() if isinstance(node, Source) else node.inputs):
        yield from _nodes(child, (*place, number))
