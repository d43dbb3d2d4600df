"""Back-pressure: a query that lags too far makes its sources wait, or skips to the ends of its streams."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.lag import Lag, parse_lag
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.scheduling import Scheduling


class BackPressure:
    """The lag limits of queries; a query without its own has that of its class."""

    def __init__(self, context: MachineContext, scheduling: Scheduling) -> None:
        self._context, self._scheduling = context, scheduling
        self._limits: dict[str, Lag] | None = None  # by query; None: collect them again

    def limits_changed(self) -> None:
        """Queries or classes have changed: collect the limits again when they are needed."""
        self._limits = None

    @property
    def sources_may_wait(self) -> bool:
        """Whether any query has a limit that makes sources wait."""
        return any(not lag.skips for lag in self._lag_limits().values())

    def lagging_query(self, stream: str) -> str | None:
        """The query that the source of a stream must wait for, if any."""
        for life, lag in self._limited():
            if not lag.skips and self._scheduling.lag(life, stream) >= lag.tuples:
                return life.name
        return None

    def must_skip(self, stream: str) -> list[Life]:
        """The queries that must skip their backlog of a stream."""
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
