"""The changes of a workload file that are due while `headgate run` watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headgate.cli.background import Background

if TYPE_CHECKING:
    from headgate.spark.session import Session
    from headgate.spark.workload import Schedule


class TimedChanges:
    """Makes changes that are due, in another thread: one may wait until runs have ended, and --for must not.

    `say` gets what was refused: a change that does not fit any more is skipped.
    """

    def __init__(self, session: Session, schedule: Schedule, say: Callable[[str], None]) -> None:
        self._session, self._schedule, self._say = session, schedule, say
        self._under_way: Background[list[str]] | None = None

    def advance(self, seconds: float) -> None:
        """Begin the changes that are due so many seconds after the start, and tell those that were refused."""
        if self._under_way is not None and self._under_way.ended(0.0):
            for refused in self._under_way.result():
                self._say(refused)
            self._under_way = None
        if self._under_way is None and self._schedule.is_due(seconds):
            self._under_way = Background(lambda: self._schedule.advance(self._session, seconds))
