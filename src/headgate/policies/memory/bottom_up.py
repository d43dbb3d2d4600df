"""Going through a path or a segment operator by operator, each for a time quantum (Pajjuri 2004, section 5.1.3)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from headgate.model import OperatorId, Unit, UnitId
from headgate.policies.contract import View

Rank = Callable[[View, Unit], tuple[float, ...]]


class BottomUp:
    """Whose turn it is: the best part first, in it one operator after another, from the leaf on.

    Units are operators here; `parts` are the paths or segments that they form. An operator that is not done when its
    time is over leaves the rest behind, and the next one has its turn. After the last the best part is chosen again.
    """

    def __init__(self, parts: Sequence[Unit] = ()) -> None:
        self.parts = parts
        self._units: dict[OperatorId, Unit] = {}
        self._coming: list[OperatorId] = []  # operators of the part under way that have not had their turn
        self.part: Unit | None = None  # under way
        self.turn: UnitId | None = None
        self.left = 0.0  # seconds of the turn

    def follow(self, parts: Sequence[Unit], units: Collection[Unit]) -> None:
        """New parts, or the same ones; a turn that is under way ends if it is of a part that is gone."""
        self.parts = parts
        self._units = {unit.calls[0]: unit for unit in units}
        if self.part is not None and self.part.calls not in {part.calls for part in parts}:
            self.part, self.turn, self._coming = None, None, []

    def go_on(self, view: View) -> Unit | None:
        """The operator whose turn it is, while there is time and work; then the next of its part."""
        if self.turn is not None and self.left > 0 and (unit := view.ready.get(self.turn)) is not None:
            return unit
        self.turn = None
        while self._coming:
            unit = self._units[self._coming.pop(0)]
            if unit.id in view.ready:
                self.turn = unit.id
                return unit
        self.part = None
        return None

    def begin(self, view: View, rank: Rank) -> Unit | None:
        """The first operator with work of the best part; None if nothing can run."""
        self.part = min(self.waiting(view), key=lambda part: rank(view, part), default=None)
        self._coming = [] if self.part is None else list(self.part.calls)
        return self.go_on(view)

    def waiting(self, view: View, without: Collection[UnitId] = ()) -> list[Unit]:
        """Parts of which an operator can run that is not left out."""
        return [part for part in self.parts if self.first(view, part.calls, without) is not None]

    def first(self, view: View, calls: Sequence[OperatorId], without: Collection[UnitId] = ()) -> Unit | None:
        """The first of some operators that can run and is not left out."""
        units = (self._units[call] for call in calls)
        return next((unit for unit in units if unit.id in view.ready and unit.id not in without), None)

    def following(self, view: View, rank: Rank, without: Collection[UnitId]) -> Unit | None:
        """Whose turn would come next; nothing changes."""
        own = self.first(view, self._coming, without)
        if own is not None:
            return own
        best = min(self.waiting(view, without), key=lambda part: rank(view, part), default=None)
        return None if best is None else self.first(view, best.calls, without)
