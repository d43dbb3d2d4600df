"""A cyclic schedule of slots: cursor and rounds live here once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Generic, TypeVar

Key = TypeVar("Key")


class Rotation(Generic[Key]):
    """Goes through slots in order, round after round, passing over those with nothing to do.

    Keys that can run are woken; each then stands at its next slot after the cursor, so that a turn costs the
    logarithm of the keys awake and not the length of the cycle.

    >>> turns = Rotation(["a", "b", "a", "c"])
    >>> for key in "abc":
    ...     turns.wake(key)
    >>> order = []
    >>> for _ in range(5):
    ...     key = turns.next(lambda key: True)
    ...     order.append(key)
    ...     turns.wake(key)
    >>> order
    ['a', 'b', 'a', 'c', 'a']
    """

    def __init__(self, slots: Sequence[Key] = ()) -> None:
        self.rounds = 0
        self._cursor = 0
        self.slots = list(slots)
        self._places: dict[Key, list[int]] = {}
        for place, key in enumerate(self.slots):
            self._places.setdefault(key, []).append(place)
        self._awake: dict[Key, tuple[int, int]] = {}
        self._turns: list[tuple[int, int]] = []

    def wake(self, key: Key) -> None:
        """The key can run: give it its next slot, if it does not stand at one already."""
        if key in self._awake:
            return
        places = self._places[key]
        following = bisect_left(places, self._cursor)
        turn = (self.rounds, places[following]) if following < len(places) else (self.rounds + 1, places[0])
        self._awake[key] = turn
        heappush(self._turns, turn)

    def next(self, can_run: Callable[[Key], bool]) -> Key | None:
        """The next key in turn that can run; those that cannot fall asleep."""
        while self._turns:
            self.rounds, place = heappop(self._turns)
            self._cursor = place + 1
            key = self.slots[place]
            del self._awake[key]
            if can_run(key):
                return key
        return None
