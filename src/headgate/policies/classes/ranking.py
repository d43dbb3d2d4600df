"""The classes of the units in a view: who is more important, and by how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from headgate.model import ClassId
from headgate.policies.contract import View

LARGEST = 1000  # of whole priorities: cyclic schedules grow with them


def priorities(view: View) -> dict[ClassId, float]:
    """The priority of every class that pays for a unit, the most important class first.

    Priority 0 would mean no share of the time at all. Nobody is to starve, so it counts as 1, or as the least of the
    others where that is below 1.
    """
    declared = {unit.payer: view.stats.class_priority(unit) for unit in view.units.values()}
    least = min([1.0, *(priority for priority in declared.values() if priority > 0)])
    return {name: max(declared[name], least) for name in sorted(declared, key=lambda name: (-declared[name], name))}


def first_known(view: View, known: dict[ClassId, float]) -> dict[ClassId, float]:
    """The same, but with the priority that each class had when it was first seen; `known` keeps them."""
    for name, priority in priorities(view).items():
        known.setdefault(name, priority)
    payers = {unit.payer for unit in view.units.values()}
    return {name: known[name] for name in sorted(payers, key=lambda name: (-known[name], name))}


def whole(class_priorities: Mapping[ClassId, float]) -> dict[ClassId, int]:
    """Priorities as whole numbers of at least 1, different where the priorities are.

    Whole priorities stay as they are. Others are multiplied until neither the least of them nor the least difference
    is below 1, as far as the largest allows.

    >>> whole({"a": 60.0, "b": 30.0, "c": 10.0}), whole({"a": 0.6, "b": 0.3, "c": 0.1}), whole({"a": 1.5, "b": 1.25})
    ({'a': 60, 'b': 30, 'c': 10}, {'a': 6, 'b': 3, 'c': 1}, {'a': 6, 'b': 5})
    """
    distinct = sorted(set(class_priorities.values()))
    gaps = [upper - lower for lower, upper in pairwise(distinct)]
    factor = min(1.0 / min([1.0, *distinct[:1], *gaps]), LARGEST / max([1.0, *distinct]))
    rounded = {name: max(1, round(priority * factor)) for name, priority in class_priorities.items()}
    return dict(zip(rounded, kept_apart(list(rounded.values()), list(class_priorities.values())), strict=True))


def kept_apart(frequencies: Iterable[int], ranks: Iterable[float]) -> list[int]:
    """Raise frequencies from the lowest class upward until each is above those of all lesser classes.

    Both lists go from the most important class to the least; classes of equal rank may have any frequencies.

    >>> kept_apart([4, 2, 1, 1], [4, 3, 2, 1]), kept_apart([9, 3, 4, 3], [9, 4, 4, 3])
    ([4, 3, 2, 1], [9, 4, 4, 3])
    """
    frequencies_apart: list[int] = []
    highest = below = 0  # among classes so far, and among those of a lesser rank than the last
    last: float | None = None
    for frequency, rank in zip(reversed(list(frequencies)), reversed(list(ranks)), strict=True):
        if rank != last:
            below, last = highest, rank
        frequencies_apart.append(max(frequency, below + 1) if below else frequency)
        highest = max(highest, frequencies_apart[-1])
    return frequencies_apart[::-1]
