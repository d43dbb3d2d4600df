"""Priority inversion: an important class that answers later than a less important one, and what to do about it.

Classes stand from the most important to the least. Class i is a *victim* if it answers later than class i + 1 though
its priority is higher; class i + 1 is then the *violator*. A module changes the frequencies with which classes run, by
small steps, until that ends (Al Moakar 2013, section 6.1.5). Where the printed algorithms slip, these follow the
examples beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from headgate.model import GRACE, ClassId
from headgate.policies.classes.ranking import kept_apart

Frequencies = list[int]
Module = Callable[[Sequence[int], Sequence[float], Collection[int]], Frequencies]


def victims(
    names: Sequence[ClassId], ranks: Sequence[float], response_times: Mapping[ClassId, float], equal: bool = False
) -> list[int]:
    """Which classes answer later than the next one, though they are more important; unknown times are no reason.

    If that counts as an inversion (section 2.3.2), also those that answer just as late.

    >>> times = {"a": 4.0, "b": 5.0, "c": 4.0, "d": 4.0}
    >>> victims("abcd", [4, 3, 2, 1], times), victims("abcd", [4, 3, 2, 1], times, equal=True)
    ([1], [1, 2])
    """
    positions = []
    for place, (name, following) in enumerate(pairwise(names)):
        both_measured = name in response_times and following in response_times
        if both_measured and ranks[place] > ranks[place + 1]:
            behind = response_times[name] - response_times[following]
            if behind > 0 or (equal and behind >= -GRACE):
                positions.append(place)
    return positions


def step(frequencies: Sequence[int], ranks: Sequence[float], slow: Collection[int]) -> Frequencies:
    """The violator loses 1; one that has only 1 cannot, and the victim gains 1 (Al Moakar 2013, algorithm 3).

    >>> step([50, 40, 30], [3, 2, 1], [1]), step([60, 20, 1], [3, 2, 1], [1])
    ([50, 40, 29], [60, 21, 1])
    """
    stepped = list(frequencies)
    for victim in sorted(slow):
        if stepped[victim + 1] > 1:
            stepped[victim + 1] -= 1
        else:
            stepped[victim] += 1
    return stepped


def dvp(frequencies: Sequence[int], ranks: Sequence[float], slow: Collection[int]) -> Frequencies:
    """Decrease the violator's priority; where there is no room between its neighbours, double all and again.

    >>> dvp([30, 20, 19], [30, 20, 19], [0])
    [60, 39, 38]
    """
    current, start = list(frequencies), list(frequencies)
    while slow:
        changed = kept_apart(step(current, ranks, slow), ranks)
        if changed != start:
            return changed
        current = [2 * frequency for frequency in current]
    return current


def ivp(frequencies: Sequence[int], ranks: Sequence[float], slow: Collection[int]) -> Frequencies:
    """Increase the victim's priority.

    >>> ivp([50, 40, 30, 20, 10], [5, 4, 3, 2, 1], [1]), ivp([5, 4, 3], [5, 4, 3], [1])
    ([50, 41, 30, 20, 10], [6, 5, 3])
    """
    return kept_apart([frequency + (place in slow) for place, frequency in enumerate(frequencies)], ranks)


def dsp(frequencies: Sequence[int], ranks: Sequence[float], slow: Collection[int]) -> Frequencies:
    """Decrease the violator's side: it and all classes below it; where that changes nothing, raise all and again.

    >>> dsp([50, 40, 30, 20, 10], [5, 4, 3, 2, 1], [1]), dsp([3, 2, 1], [3, 2, 1], [1])
    ([50, 40, 29, 19, 9], [4, 3, 1])
    """
    current, start = list(frequencies), list(frequencies)
    while slow:
        lost = [sum(victim < place for victim in slow) for place in range(len(current))]
        fewer = [max(1, frequency - loss) for frequency, loss in zip(current, lost, strict=True)]
        changed = kept_apart(fewer, ranks)
        if changed != start:
            return changed
        current = [frequency + 1 for frequency in current]
    return current


def isp(frequencies: Sequence[int], ranks: Sequence[float], slow: Collection[int]) -> Frequencies:
    """Increase the victim's side: it and all classes above it.

    >>> isp([50, 40, 30, 20, 10], [5, 4, 3, 2, 1], [1])
    [51, 41, 30, 20, 10]
    """
    return [frequency + sum(victim >= place for victim in slow) for place, frequency in enumerate(frequencies)]


MODULES: Mapping[str, Module] = MappingProxyType({"dvp": dvp, "ivp": ivp, "dsp": dsp, "isp": isp})
