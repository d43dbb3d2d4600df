"""A cyclic schedule of slots: cursor and rounds live here once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Generic, TypeVar

Key = TypeVar("Key")
Turn = tuple[int, int]  # round and place


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
        self._awake: dict[Key, Turn] = {}
        self._turns: list[Turn] = []
        self._taken: dict[Key, Turn] = {}  # before their turns came: where those keys go on
        self._last: Turn = (0, 0)

    def wake(self, key: Key) -> None:
        """The key can run: give it its next slot, if it does not stand at one already."""
        if key in self._awake:
            return
        places = self._places[key]
        rounds, place = max((self.rounds, self._cursor), self._taken.pop(key, (0, 0)))
        following = bisect_left(places, place)
        turn = (rounds, places[following]) if following < len(places) else (rounds + 1, places[0])
        self._awake[key] = turn
        heappush(self._turns, turn)

    def next(self, can_run: Callable[[Key], bool]) -> Key | None:
        """The next key in turn that can run; those that cannot fall asleep."""
        while self._turns:
            turn = heappop(self._turns)
            key = self.slots[turn[1]]
            if self._awake.get(key) != turn:  # taken before its turn came
                continue
            self._last = turn
            self.rounds, self._cursor = turn[0], turn[1] + 1
            del self._awake[key]
            if can_run(key):
                return key
        return None

    def give_back(self) -> None:
        """The last turn was not used: it comes next, again."""
        self.rounds, self._cursor = self._last
        self.wake(self.slots[self._cursor])

    @property
    def first(self) -> bool:
        """Whether the last turn was the first of its key in the round."""
        place = self._last[1]
        return self._places[self.slots[place]][0] == place

    def ahead(self, slots: int) -> list[Key]:
        """The keys that stand at the next so many slots.

        >>> turns = Rotation("abc")
        >>> turns.wake("c"), turns.ahead(2), turns.ahead(3)
        (None, [], ['c'])
        """
        coming = (divmod(self._cursor + step, len(self.slots)) for step in range(min(slots, len(self.slots))))
        turns = ((self.rounds + more, place) for more, place in coming)
        return [self.slots[turn[1]] for turn in turns if self._awake.get(self.slots[turn[1]]) == turn]

    def peek(self, can_run: Callable[[Key], bool]) -> Key | None:
        """The key whose turn comes next among those that can run; nothing changes.

        >>> turns = Rotation("abc")
        >>> turns.wake("c"), turns.wake("b"), turns.peek(lambda key: True), turns.peek(lambda key: key != "b")
        (None, None, 'b', 'c')
        """
        coming = min((turn for key, turn in self._awake.items() if can_run(key)), default=None)
        return None if coming is None else self.slots[coming[1]]

    def take(self, key: Key) -> None:
        """Take a key's turn before it comes; the others keep theirs."""
        self._last = self._awake.pop(key)
        self._taken[key] = (self._last[0], self._last[1] + 1)
