"""A run's way over the pieces of its queries: what one leaves for the next, that takes up in the same run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from headgate.model import HeadgateError, Produced, QueueId, Run
from headgate.plan.sharing import Place
from headgate.spark.jobs.pieces import Piece
from headgate.spark.jobs.rows import Range
from headgate.spark.running import Logs, RunningQuery
from headgate.spark.share import Share

Step = tuple[tuple[RunningQuery, Piece], ...]  # one piece of each query


@dataclass(slots=True)
class Walk:
    """The pieces that a run's units name, in steps: each piece after those that feed it.

    Units are of the policy's making: an operator, a segment, a path, all operators of a query. Where the query is in
    pieces, a unit may have several of them.
    """

    takes: Mapping[QueueId, tuple[int, int]]
    steps: tuple[Step, ...]
    ends: Mapping[str, int]  # how much waited inside the queries when the run began
    passed: set[tuple[str, QueueId]] = field(default_factory=set)  # queues whose rows are taken as they come

    @classmethod
    def of(cls, run: Run, queries: Mapping[str, RunningQuery]) -> Walk:
        names = dict.fromkeys(name for unit in run.units for name in unit.queries if name in queries)
        steps = zip_longest(*([(queries[name], piece) for piece in _pieces(queries[name], run)] for name in names))
        takes: dict[QueueId, tuple[int, int]] = {}
        for queue, first, last in run.takes:  # units that run together may take from one queue, one after another
            takes[queue] = takes.get(queue, (first, last))[0], last
        ends = {name: log.end for query in names for name, log in queries[query].shape.logs.items()}
        return cls(takes, tuple(tuple(one for one in step if one is not None) for step in steps), ends)

    def shares(self, step: Step, logs: Logs) -> list[Share]:
        """What each query does in a step, if there is something for it to take."""
        found = []
        for running, piece in step:
            if running.state == "suspended":
                continue  # in a step before
            taken = {
                place: self._onward(running, piece, place, offsets)
                for place, offsets in running.taken(self.takes, piece).items()
            }
            _check_places(running, taken)
            if any(offsets.first < offsets.last for offsets in taken.values()):
                found.append(Share.of(running, piece, taken, logs))
        return found

    def _onward(self, running: RunningQuery, piece: Piece, place: Place, offsets: Range) -> Range:
        """With the rows that another piece has left in this run, if none before them is left or held by a window."""
        stream, queue = piece.leaves[place].stream, running.queues[place]
        log = running.shape.logs.get(stream)
        held = place in piece.held and not running.until
        if log is None or held or offsets.last < self.ends[stream] or not any(self._feeds(running, stream)):
            return offsets
        running.bases[queue] += log.end - offsets.last  # the scheduler never hears of them
        self.passed.add((running.name, queue))
        return Range(offsets.first, log.end)

    def _feeds(self, running: RunningQuery, stream: str) -> Iterator[bool]:
        """Whether pieces of the query on this way give these rows."""
        for step in self.steps:
            for mine, piece in step:
                yield mine is running and piece.feeds is not None and piece.feeds.name == stream

    @staticmethod
    def groups(shares: Sequence[Share], run: Run) -> Iterator[list[Share]]:
        """The shares of a step by units: those of one are one job, where their queries are of one form."""
        left = list(shares)
        for unit in run.units:
            yield [share for share in left if share.name in unit.queries]
            left = [share for share in left if share.name not in unit.queries]

    def produced(self, shares: Iterable[Share]) -> Iterator[Produced]:
        """What waits for other units now."""
        for share in shares:
            for one in share.produced():
                if (share.name, one.queue) not in self.passed:
                    yield one


def _pieces(running: RunningQuery, run: Run) -> list[Piece]:
    """The pieces of a query that a run's units have operators of, each after those that feed it."""
    named = [running.operators.get(call) for unit in run.units for call in unit.calls]
    return [piece for piece in running.pieces if any(piece is one for one in named)]


def _check_places(running: RunningQuery, taken: Mapping[Place, Range]) -> None:
    """Refuse a run that would leave tuples out, or take some twice."""
    for place, offsets in taken.items():
        if offsets.first != running.positions[place]:
            raise HeadgateError(
                f"a run of query '{running.name}' was to take tuples from offset {offsets.first} on, but the query "
                f"stands at {running.positions[place]}",
                where=f"stream {running.leaves[place].stream}",
                hint="resume it: it goes on where it stands",
            )
