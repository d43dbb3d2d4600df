"""LagLimit limits: a query that falls too far behind its streams makes their sources wait (back-pressure), or skips.

The tuples that it has yet to read must be kept for it, so without a limit a slow query fills the disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from headgate.model import HeadgateError, Spec, unknown
from headgate.model.values import as_text
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.scheduling import Scheduling

KINDS = ("wait", "skip")
_WITHOUT_LAG = (
    QueryState.CHECKING,
    QueryState.SCHEDULED,
    QueryState.DONE,
    QueryState.INCOMPLETE,
    QueryState.STOPPED,
)
_EXAMPLE = 'write for example "skip, tuples=100000"'


@dataclass(frozen=True, slots=True)
class LagLimit:
    """How many tuples of a stream may wait for a query before its sources wait, or it skips to the stream's end."""

    kind: str
    tuples: int

    @property
    def skips(self) -> bool:
        return self.kind == "skip"


def parse_lag(text: str) -> LagLimit:
    """Read a lag limit.

    >>> parse_lag("skip, tuples=1000")
    LagLimit(kind='skip', tuples=1000)
    >>> parse_lag("drop, tuples=1000")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: unknown lag limit 'drop'; known: skip, wait
    """
    if not isinstance(text, str):
        raise HeadgateError(f"a lag limit must be text, found {as_text(text)}", hint=_EXAMPLE)
    return _parsed(text)


@cache
def _parsed(text: str) -> LagLimit:
    spec = Spec.parse(text)
    if spec.name not in KINDS:
        raise unknown("lag limit", spec.name, KINDS)
    spec.only(("tuples",))
    tuples = spec.settings.get("tuples")
    if not isinstance(tuples, int) or isinstance(tuples, bool) or tuples < 1:
        raise HeadgateError(f"a lag limit needs a whole number of tuples from 1, found {tuples}", hint=_EXAMPLE)
    return LagLimit(spec.name, tuples)


class LagLimits:
    """The lag limits of queries; a query without its own has that of its class."""

    def __init__(self, context: MachineContext, scheduling: Scheduling) -> None:
        self._context, self._scheduling = context, scheduling
        self._limits: dict[str, LagLimit] | None = None  # by query; None: collect them again

    def limits_changed(self) -> None:
        """Queries or classes have changed: collect the limits again when they are needed."""
        self._limits = None

    @property
    def sources_may_wait(self) -> bool:
        """Whether any query has a limit that makes sources wait."""
        return any(not lag.skips for lag in self._lag_limits().values())

    def lagging_query(self, stream: str) -> str | None:
        """The query that the source of a stream must wait for, if any."""
        if stream not in self._scheduling.ends:
            return None
        for life, lag in self._limited():
            if not lag.skips and self._scheduling.lag(life, stream) >= lag.tuples:
                return life.name
        return None

    def must_skip(self, stream: str) -> list[Life]:
        """The queries that must skip their backlog of a stream."""
        return [life for life, lag in self._limited() if lag.skips and self._scheduling.lag(life, stream) > lag.tuples]

    def _lag_limits(self) -> dict[str, LagLimit]:
        if self._limits is None:
            classes = self._scheduling.scheduler.network.classes
            texts = {
                name: life.query.lag or classes[life.query.query_class].lag
                for name, life in self._context.lives.items()
            }
            self._limits = {name: parse_lag(text) for name, text in texts.items() if text is not None}
        return self._limits

    def _limited(self) -> Iterator[tuple[Life, LagLimit]]:
        for name, lag in self._lag_limits().items():
            life = self._context.lives[name]
            if life.state not in _WITHOUT_LAG and not life.until:
                yield life, lag
