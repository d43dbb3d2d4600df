"""Policies of two levels: an outer cycle picks a part of the units, an inner policy a unit of that part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Hashable, Iterable
from typing import Any

from headgate.model import IDLE, Choice, Idle, Outcome, QueueId, Run, Unit, UnitId, WorkerId
from headgate.policies.contract import Policy, View
from headgate.policies.rotation import Rotation


class TwoLevel(Policy):
    """Parts take turns; inside a part its own inner policy decides."""

    @abstractmethod
    def part(self, unit: Unit) -> Hashable:
        """The part a unit belongs to: its class, its query."""

    @abstractmethod
    def inner(self) -> Policy:
        """A fresh inner policy, one for each part."""

    def parts(self, view: View) -> list[Hashable]:
        """The parts in their order: as their units stand, unless said otherwise."""
        return list(dict.fromkeys(self.part(view.units[number]) for number in sorted(view.units)))

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._turns: Rotation[Hashable] = Rotation()
        self._inner: dict[Hashable, Policy] = {}
        self._seed = 0

    def changed(self, view: View) -> None:
        parts = self.parts(view)
        if parts != self._turns.slots:  # else only statistics are new, and starting over would starve the last
            self._turns = Rotation(parts)
        self._inner = {part: self._inner.get(part) or self.inner() for part in parts}  # who stays, goes on
        for number, (part, policy) in enumerate(self._inner.items()):
            policy.tally = self.tally
            policy.seed(self._seed + number)
            policy.changed(self._within(view, part))

    def ready(self, view: View, unit: Unit) -> None:
        part = self.part(unit)
        self._inner[part].ready(view, unit)
        self._turns.wake(part)

    def grown(self, view: View, queues: Iterable[QueueId]) -> None:
        for policy in self._inner.values():
            policy.grown(view, queues)

    def seed(self, seed: int) -> None:
        self._seed = seed

    def finished(self, view: View, run: Run, outcome: Outcome) -> None:
        for part in {self.part(unit) for unit in run.units} & self._inner.keys():
            self._inner[part].finished(view, run, outcome)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        tried: list[Choice | Idle] = []

        def can_run(part: Hashable) -> bool:
            self.tally.compared += 1
            tried.append(self._ask(view, part, worker))
            return isinstance(tried[-1], Choice)

        part = self._turns.next(can_run)
        if part is None:
            return IDLE
        self._turns.wake(part)  # others of its units may be ready
        return tried[-1]

    def title(self, part: Hashable) -> str:
        """What a part is called in explanations."""
        return str(part)

    def following(self, view: View, waiting: Collection[Hashable], chosen: Collection[UnitId]) -> Hashable | None:
        """The part whose turn is next among those in which something waits that was not chosen; changes nothing."""
        return self._turns.peek(waiting.__contains__)

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        waiting = {self.part(unit) for unit in view.ready.values() if unit.id not in chosen}
        part = self.following(view, waiting, chosen) if waiting else None
        return None if part is None else self._inner[part].runner_up(self._within(view, part), chosen)

    def reason(self, view: View, winner: Unit, second: Unit | None) -> str:
        turn = f"it is the turn of {self.title(self.part(winner))}"
        return turn if second is None else f"{turn}; next is {second}, in the turn of {self.title(self.part(second))}"

    def _ask(self, view: View, part: Hashable, worker: WorkerId) -> Choice | Idle:
        return self._inner[part].choose(self._within(view, part), worker)

    def _within(self, view: View, part: Hashable) -> View:
        return view.only(lambda unit: self.part(unit) == part)
