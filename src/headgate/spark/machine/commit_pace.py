"""How often a query commits: when it did last, how long that usually takes, and since when it owes a commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from headgate.stats.average import ExponentialAverage


@dataclass(slots=True)
class CommitPace:
    """The commits of a query's runs.

    Time counts from when tuples could have been taken, or from the commit before, whichever is later: a query to which
    nothing comes for an hour owes nothing meanwhile.

    >>> pace = CommitPace()
    >>> pace.run_began(waiting_since=10.0); pace.committed(at=12.0); pace.runs_ended()
    >>> pace.last, pace.usual, pace.owes_since(inf), pace.owes_since(30.0), pace.owes_since(11.0)
    (12.0, 2.0, None, 30.0, 12.0)
    """

    last: float | None = None  # when a run was last committed
    _gap: ExponentialAverage = field(default_factory=ExponentialAverage)
    _taken_since: float = inf  # since when tuples waited that runs under way have taken

    @property
    def usual(self) -> float | None:
        """How many seconds a commit usually takes; None before the first."""
        return self._gap.value

    def run_began(self, waiting_since: float) -> None:
        """A run has taken tuples of which the first could have been taken from then on."""
        self._taken_since = min(self._taken_since, waiting_since)

    def committed(self, at: float) -> None:
        """A run, or a step of it, was committed."""
        began = self.owes_since(inf)
        if began is not None:
            self._gap.add(max(0.0, at - began))
        self.last = at

    def runs_ended(self) -> None:
        """No run is under way any more."""
        self._taken_since = inf

    def owes_since(self, waiting_since: float) -> float | None:
        """Since when something could have been committed; None if no tuples wait and none are in a run."""
        since = min(waiting_since, self._taken_since)
        if since == inf:
            return None
        return since if self.last is None else max(since, self.last)
