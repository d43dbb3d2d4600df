"""The end of `headgate run`: within some seconds, whatever is under way, and it says what it waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headgate.cli.background import Background
from headgate.cli.console import note
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from headgate.spark.session import Session
    from headgate.spark.status import Status

PATIENCE = 3.0  # seconds that active runs get to end, and then sinks to take their results
_QUIET = 0.5  # seconds in which an end needs no words


def end(session: Session, stop_spark: Callable[[], None]) -> Status:
    """Close a session and its Spark; returns how it stood at the end.

    Runs that take too long are cancelled: they were not committed, so that the next run does them again.
    """

    def close() -> Status:
        try:
            return session.close(PATIENCE)
        finally:
            stop_spark()

    closing = Background(close)
    said = False, False
    while not closing.ended(_QUIET):
        runs, sinks = _awaited(session)
        if (runs or sinks) and said != (runs > 0, sinks > 0):  # a number that has changed is no news
            note(f"ending: {', '.join(filter(None, (_runs(runs), _sinks(sinks))))}")
            said = runs > 0, sinks > 0
    return closing.result()


def _awaited(session: Session) -> tuple[int, int]:
    """How many runs and sinks a session that is being closed waits for."""
    try:
        overview = session.engine.overview()
    except HeadgateError:  # its threads have ended
        return 0, 0
    return sum(map(bool, overview.doing)), sum(view.undelivered > 0 for view in overview.queries)


def _runs(count: int) -> str:
    return f"{count} {'run' if count == 1 else 'runs'} under way" if count else ""


def _sinks(count: int) -> str:
    return f"{count} {'sink has' if count == 1 else 'sinks have'} results to take" if count else ""
