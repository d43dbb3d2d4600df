"""Back-pressure: queries that lag too far make their sources wait, or skip to the ends of their streams."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.lag import Lag, parse_lag
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.scheduling import Scheduling


class BackPressure:
    """The lag limits of queries, of their own or of their class."""

    def __init__(self, context: MachineContext, scheduling: Scheduling) -> None:
        self._context, self._scheduling = context, scheduling
        self._limits: dict[str, Lag] | None = None  # None: look anew who has one

    def limits_changed(self) -> None:
        """Queries or classes are others now."""
        self._limits = None

    @property
    def sources_may_wait(self) -> bool:
        """Whether a source may have to wait at all."""
        return any(not lag.skips for lag in self._lag_limits().values())

    def lagging_query(self, stream: str) -> str | None:
        """The query that a stream's source must wait for, if there is one."""
        for life, lag in self._limited():
            if not lag.skips and self._scheduling.lag(life, stream) >= lag.tuples:
                return life.name
        return None

    def must_skip(self, stream: str) -> list[Life]:
        """The queries that must skip what waits for them in a stream."""
        return [life for life, lag in self._limited() if lag.skips and self._scheduling.lag(life, stream) > lag.tuples]

    def _lag_limits(self) -> dict[str, Lag]:
        if self._limits is None:
            classes = self._scheduling.scheduler.network.classes
            texts = {
                name: life.query.lag or classes[life.query.query_class].lag
                for name, life in self._context.lives.items()
            }
            self._limits = {name: parse_lag(text) for name, text in texts.items() if text is not None}
        return self._limits

    def _limited(self) -> Iterator[tuple[Life, Lag]]:
        for name, lag in self._lag_limits().items():
            life = self._context.lives[name]
            if (
                life.state not in (QueryState.CHECKING, QueryState.SCHEDULED, QueryState.DONE, QueryState.STOPPED)
                and not life.until
            ):
                yield life, lag
