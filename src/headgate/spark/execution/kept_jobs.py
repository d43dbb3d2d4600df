"""What was compiled for groups of queries, kept for their next runs and forgotten when they have none for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

Job = TypeVar("Job")
UNUSED = 300.0  # seconds after which a job is forgotten: its group has other members by now, or none


class _Entry(NamedTuple, Generic[Job]):
    job: Job
    members: Sequence[object]  # keeps them alive, since the key has their addresses
    used: float


class KeptJobs(Generic[Job]):
    """Jobs by their members, those used last at the end.

    >>> time, kept = iter([0.0, 1.0, 400.0]), KeptJobs(most=10, now=lambda: next(time))
    >>> one, two = object(), object()
    >>> kept.get([one], lambda: "a job of one"), kept.get([one], lambda: "never made")
    ('a job of one', 'a job of one')
    >>> kept.get([one, two], lambda: "a job of two"), len(kept)
    ('a job of two', 1)
    """

    def __init__(self, most: int, now: Callable[[], float]) -> None:
        self._most, self._now = most, now
        self._entries: OrderedDict[tuple[int, ...], _Entry[Job]] = OrderedDict()
        self._changing = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, members: Sequence[object], make: Callable[[], Job]) -> Job:
        """The job that is kept for these members, or else is made and kept."""
        key, now = tuple(map(id, members)), self._now()
        with self._changing:
            entry = self._entries.pop(key, None)
        job = make() if entry is None else entry.job
        with self._changing:
            self._entries[key] = _Entry(job, members if entry is None else entry.members, now)
            while len(self._entries) > self._most or next(iter(self._entries.values())).used < now - UNUSED:
                self._entries.popitem(last=False)
        return job

    def keep_only(self, alive: Collection[int]) -> None:
        """Forget the jobs that have another member than those with these ids: it is gone and will not come again."""
        with self._changing:
            for key in [key for key in self._entries if not all(member in alive for member in key)]:
                del self._entries[key]
