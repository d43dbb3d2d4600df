"""A view for as long as nothing happens: what takes long to find out is found out once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from headgate.model import Queue, QueueId, Run, Unit, UnitId, WorkerId
from headgate.stats import Stats

if TYPE_CHECKING:
    from headgate.policies.contract import View


class StillView:
    """What a policy sees, while one decision is explained.

    A group has a queue for each of its members, and an explanation asks several times how much waits for a unit, and
    since when.
    """

    __slots__ = ("_oldest", "_view", "_waiting")

    def __init__(self, view: View) -> None:
        self._view = view
        self._oldest: dict[UnitId, float] = {}
        self._waiting: dict[UnitId, int] = {}

    @property
    def now(self) -> float:
        return self._view.now

    @property
    def units(self) -> Mapping[UnitId, Unit]:
        return self._view.units

    @property
    def ready(self) -> Mapping[UnitId, Unit]:
        return self._view.ready

    @property
    def running(self) -> Mapping[WorkerId, Run]:
        return self._view.running

    @property
    def stats(self) -> Stats:
        return self._view.stats

    def queue(self, number: QueueId) -> Queue:
        return self._view.queue(number)

    def waiting(self, unit: Unit) -> int:
        if unit.id not in self._waiting:
            self._waiting[unit.id] = self._view.waiting(unit)
        return self._waiting[unit.id]

    def oldest(self, unit: Unit) -> float:
        if unit.id not in self._oldest:
            self._oldest[unit.id] = self._view.oldest(unit)
        return self._oldest[unit.id]

    def only(self, keep: Callable[[Unit], bool]) -> View:
        return self._view.only(keep)
