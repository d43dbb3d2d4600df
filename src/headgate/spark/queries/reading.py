"""What a run reads for a query, and how many tuples that is."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.plan.places import Place
from headgate.spark.compile import executor_reads
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.frames import WholeQuery
from headgate.spark.compile.leaf_rows import Leaf
from headgate.spark.queries.running_query import Logs, Ranges, RunningQuery


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The leaves of a fragment in one run, with what is counted of them."""

    leaves: dict[Place, Leaf]
    whole: WholeQuery | None  # for a fragmented query: the whole plan around the fragment
    tuples: int  # taken; leaves with the same queue take the same ones
    arrived: int  # of those from streams, not from other fragments, and no ends of streams
    late: int  # tuples among them that come too late for their windows
    vast: bool  # so many that executors alone read them and write the results

    @classmethod
    def of(cls, running: RunningQuery, fragment: Fragment, ranges: Ranges, logs: Logs) -> Reading:
        leaves, whole = running.read(fragment, ranges, logs)
        from_streams = {place: offsets for place, offsets in ranges.items() if place in running.starts}
        vast = any(
            executor_reads.vast(running.log(source.stream, logs), ranges[place].first, ranges[place].last)
            for place, source in fragment.leaves.items()
        )
        return cls(
            leaves,
            whole,
            _count(running, ranges),
            _count(running, from_streams) - running.end_markers(ranges, logs),
            running.late(ranges, logs),
            vast,
        )


class Readings:
    """The readings of one step of a run. Members of a group that read the same of one stream share theirs."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self._shared: dict[object, Reading] = {}

    def of(self, running: RunningQuery, fragment: Fragment, ranges: Ranges) -> Reading:
        if not running.layout.whole or len(ranges) != 1 or fragment.held:  # what is late depends on the windows
            return Reading.of(running, fragment, ranges, self._logs)
        ((place, offsets),) = ranges.items()
        stream = fragment.leaves[place].stream
        same = (stream, place, offsets.first, offsets.last, running.starts[place], running.until.get(place))
        if (reading := self._shared.get(same)) is None:
            reading = self._shared[same] = Reading.of(running, fragment, ranges, self._logs)
        return reading


def _count(running: RunningQuery, ranges: Ranges) -> int:
    by_queue = {running.queues[place]: offsets for place, offsets in ranges.items()}
    return sum(offsets.last - offsets.first for offsets in by_queue.values())
