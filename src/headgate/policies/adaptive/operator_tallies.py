"""What operators did under each candidate, and under all of them (Pielech 2004, section 3.2.5)."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.model import OperatorId, Outcome


@dataclass(slots=True)
class OperatorTally:
    """One operator's work; tuples and seconds only where the driver tells them."""

    runs: int = 0
    tuples_in: int = 0
    tuples_out: int = 0
    seconds: float = 0.0

    @property
    def selectivity(self) -> float | None:
        return self.tuples_out / self.tuples_in if self.tuples_in else None

    @property
    def cost(self) -> float | None:
        """Seconds per tuple."""
        return self.seconds / self.tuples_in if self.tuples_in else None


class OperatorTallies:
    """The tallies of all operators.

    >>> from headgate.model import OperatorOutcome, Run
    >>> tallies = OperatorTallies()
    >>> run = Run(1, 0, (), (), (4,), 0.0)
    >>> tallies.add(Outcome(run, 0.5, operators=(OperatorOutcome(4, 10, 5, 0.5),)))
    >>> tallies.operators[4].selectivity, tallies.operators[4].cost
    (0.5, 0.05)
    """

    def __init__(self) -> None:
        self.operators: dict[OperatorId, OperatorTally] = {}

    def add(self, outcome: Outcome) -> None:
        for call in outcome.run.calls:
            self.operators.setdefault(call, OperatorTally()).runs += 1
        for work in outcome.operators:
            tally = self.operators.setdefault(work.operator, OperatorTally())
            tally.tuples_in += work.tuples_in
            tally.tuples_out += work.tuples_out
            tally.seconds += work.seconds or 0.0
