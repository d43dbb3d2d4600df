"""What a replayed run did, and what a machine is to a replay."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from headgate.model import OperatorOutcome, Produced, Run, Work
from headgate.plan.network import Network


class Result(NamedTuple):
    """Some results of a query that took equally long."""

    query: str
    results: float  # how many
    arrival: float
    emitted: float | None = None  # None: with the run's end


class Executed(NamedTuple):
    """What a run takes and gives."""

    seconds: float  # of a worker
    commit: float  # seconds until its results count after that
    results: tuple[Result, ...] = ()
    operators: tuple[OperatorOutcome, ...] = ()
    produced: tuple[Produced, ...] = ()
    work: Work | None = None


class Machine(Protocol):
    """Carries runs out in virtual time, by what was learned of recorded ones."""

    def follow(self, network: Network) -> None:
        """The network has changed."""

    def execute(self, run: Run, now: float, others: int, fixed: float) -> Executed:
        """What a run will take and give that begins now, beside so many others.

        `fixed` are the seconds of it that the scheduler thinks its tuples do not explain.
        """

    def finished(self, run: Run) -> None:
        """A run has ended: what it produced is there for others."""

    def cancelled(self, run: Run) -> None:
        """A run was cancelled: its tuples wait again."""
