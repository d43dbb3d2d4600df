"""Queues as positions in logs.

A stream is one log however many queries read it: an arrival costs one append, and a queue is a position. A log holds
no data, only when its tuples arrived, in chunks of equal arrival time.
"""

from __future__ import annotations

from bisect import bisect_right

from headgate.core.units import UnitState
from headgate.model import QueueId, Take

_NONE = float("inf")
_TRIM = 4096  # chunks; trimming looks at every queue, so not on every append


class Log:
    """An append-only sequence of arrival times and the queues that read it."""

    __slots__ = ("_sums", "_trim_at", "arrivals", "asleep", "base", "end", "ends", "queues", "size")

    def __init__(self, size: int) -> None:
        self.size = size  # bytes of a tuple
        self.end = 0
        self.arrivals: list[float] = []
        self.ends: list[int] = []  # offset behind the last tuple of each chunk
        self.queues: list[TupleQueue] = []
        self.asleep: list[TupleQueue] = []  # queues at the end: the next tuple wakes them
        self.base = 0  # how many chunks have been dropped
        self._sums = [0.0, 0.0]  # of the arrivals before each chunk but for the first's, as far as somebody has asked
        self._trim_at = _TRIM

    @property
    def chunks(self) -> int:
        """How many chunks there have ever been; a queue's chunk is counted the same way."""
        return self.base + len(self.ends)

    def append(self, arrival: float, count: int) -> list[TupleQueue]:
        """Append tuples of one arrival time; return the queues that were empty before."""
        if self.ends and self.arrivals[-1] == arrival:
            first = self.end
            self.ends[-1] += count
        else:
            first = self.end
            self.arrivals.append(arrival)
            self.ends.append(first + count)
            if len(self.ends) > self._trim_at:
                self._trim()
        self.end = first + count
        woken = self.asleep
        if woken:
            self.asleep = []
            last = self.base + len(self.ends) - 1
            for queue in woken:
                queue.chunk = last
                queue.head = arrival
        return woken

    def mean(self, chunk: int, first: int, behind: int) -> float:
        """The mean arrival of some tuples, the first of which is in that chunk.

        Sums are kept from one question to the next, so that a long queue is not gone through again and again. They
        count from the first chunk that is kept: small numbers lose no precision.
        """
        arrivals, ends, sums = self.arrivals, self.ends, self._sums
        start = chunk - self.base
        last = bisect_right(ends, behind - 1, lo=start)
        if start == last:
            return arrivals[start]
        origin = arrivals[0]
        for place in range(len(sums), last + 1):
            sums.append(sums[-1] + (arrivals[place - 1] - origin) * (ends[place - 1] - ends[place - 2]))
        total = (arrivals[start] - origin) * (ends[start] - first) + sums[last] - sums[start + 1]
        total += (arrivals[last] - origin) * (behind - ends[last - 1])
        return origin + total / (behind - first)

    def _trim(self) -> None:
        """Drop the chunks that every queue has read; held tuples stay."""
        last = self.chunks - 1  # a queue that began at the end may stand in it: it has grown since
        keep = min((queue.chunk for queue in self.queues if queue.position < self.end), default=last)
        pinned = (queue.pinned for queue in self.queues if queue.pinned is not None)
        keep = min(keep, last, *pinned)
        drop = keep - self.base
        if drop > 0:
            del self.arrivals[:drop]
            del self.ends[:drop]
            self.base = keep
            self._sums = [0.0, 0.0]
        self._trim_at = max(_TRIM, 2 * len(self.ends))


class TupleQueue:
    """A position in a log before an operator, and the tuples that wait beyond it."""

    __slots__ = ("chunk", "head", "id", "log", "marks", "pinned", "position", "released", "states", "upto")

    def __init__(self, number: QueueId, log: Log) -> None:
        self.id = number
        self.log = log
        self.position = log.end
        self.upto: int | None = None  # None: nothing is ever held
        self.chunk = log.chunks
        self.head = _NONE
        self.marks: list[int] = []  # offsets up to which held tuples were released: windows close there
        self.pinned: int | None = None  # the chunk to which a run under way may give tuples back
        self.released: float | None = None  # when held tuples were last released
        self.states: list[UnitState] = []
        log.queues.append(self)
        log.asleep.append(self)

    def __len__(self) -> int:
        return self.limit - self.position

    @property
    def limit(self) -> int:
        """Offset behind the last tuple that waits."""
        return self.log.end if self.upto is None else max(self.upto, self.position)

    @property
    def nbytes(self) -> int:
        return len(self) * self.log.size

    @property
    def mean(self) -> float:
        """Mean arrival of the waiting tuples; inf if none waits."""
        return _NONE if self.head == _NONE else self.log.mean(self.chunk, self.position, self.limit)

    @property
    def ahead(self) -> int:
        """How many waiting tuples share the head's arrival time."""
        return min(self.log.ends[self.chunk - self.log.base], self.limit) - self.position

    def take_one(self) -> Take:
        """Move past the head tuple: `take(1)`, written out because the simulator does little else."""
        first = self.position
        last = self.position = first + 1
        log = self.log
        if self.upto is not None:
            self._pause(last)
        elif last == log.end:
            self.head = _NONE
            log.asleep.append(self)
        elif log.ends[self.chunk - log.base] == last:
            self.chunk += 1
            self.head = log.arrivals[self.chunk - log.base]
        return self.id, first, last

    def take(self, count: int) -> Take:
        """Move past that many waiting tuples."""
        first = self.position
        last = self.position = first + count
        if last == self.log.end or self.upto is not None:
            self._pause(last)
        else:
            self._settle()
        return self.id, first, last

    def take_all(self) -> Take:
        """Move past all waiting tuples; some must be waiting."""
        first = self.position
        last = self.position = self.limit
        self._pause(last)
        return self.id, first, last

    def up_to_mark(self, count: int) -> int:
        """How many tuples to take instead of so many, if windows hold them: up to where one closes.

        Tuples of a window that are taken before it closes are read again when it does: to cut there is of no use.
        """
        if self.upto is None:
            return count
        del self.marks[: bisect_right(self.marks, self.position)]
        place = bisect_right(self.marks, self.position + count)
        return (self.marks[max(0, place - 1)] if self.marks else self.limit) - self.position

    def pin(self) -> None:
        """Keep what is taken from now on, so that it can be given back."""
        if self.head != _NONE:
            self.pinned = self.chunk

    def give_back(self, first: int) -> None:
        """Move back to an offset in the chunk that was pinned before the tuples beyond it were taken."""
        assert self.pinned is not None
        if self in self.log.asleep:
            self.log.asleep.remove(self)
        self.position, self.chunk = first, self.pinned
        if self.position >= self.limit:  # they have been held again meanwhile
            self.head = _NONE
        else:
            self._settle()

    def hold_beyond(self, upto: int) -> bool:
        """Release tuples up to an offset; return whether the queue was empty before and is not any more."""
        if self.upto is None and self in self.log.asleep:
            self.log.asleep.remove(self)
        self.upto = min(upto, self.log.end)
        if self.pinned is None:  # else tuples may be given back, and be cut at these marks again
            del self.marks[: bisect_right(self.marks, self.position)]
        if self.upto > (self.marks[-1] if self.marks else self.position):
            self.marks.append(self.upto)
        if self.position >= self.limit:
            self.head = _NONE
            return False
        woken = self.head == _NONE
        self._settle()
        return woken

    def close(self) -> None:
        """Stop reading the log."""
        self.log.queues.remove(self)
        if self in self.log.asleep:
            self.log.asleep.remove(self)

    def _pause(self, last: int) -> None:
        """Note that nothing waits any more, or only held tuples."""
        if self.upto is None:
            self.head = _NONE
            self.log.asleep.append(self)
        elif last >= self.upto:
            self.head = _NONE
        else:
            self._settle()

    def _settle(self) -> None:
        """Find the chunk of the position and its arrival."""
        log = self.log
        ends, base = log.ends, log.base
        chunk = min(max(self.chunk, base) - base, len(ends) - 1)  # tuples of one arrival time may join the last chunk
        if ends[chunk] <= self.position:
            chunk = bisect_right(ends, self.position, lo=chunk + 1)
        self.chunk = chunk + base
        self.head = log.arrivals[chunk]
