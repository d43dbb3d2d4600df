"""What a description of a query says beyond its numbers."""

from __future__ import annotations

from typing import Any

from headgate.spark.session import Session


def where_its_time_goes(session: Session, query: str) -> dict[str, Any] | None:
    """The mean seconds that its newest results spent in windows, queues, runs, commits and sinks; None if unknown."""
    return None
