"""A fixed time for every turn (Pajjuri 2004, sections 4.1.1 and 5.1.3; Pielech 2004, section 4.2)."""

from __future__ import annotations

from dataclasses import replace

from headgate.model import WHOLE_QUEUE, Train, Unit
from headgate.policies.contract import View
from headgate.policies.settings import Setting

RUNS = 10  # run overheads that a turn lasts at least, where runs have one: else it would consist of them

QUANTUM = Setting(
    "quantum",
    0.0,
    "seconds that an operator runs when its turn comes, as 10ms, at least 10 run overheads; 0: one run, however long",
    least=0.0,
)


def turn_length(view: View, unit: Unit, quantum: float) -> float:
    """Seconds of a turn; 0: one run."""
    return max(quantum, RUNS * view.stats.run_overhead(unit)) if quantum else 0.0


def fitting(train: Train | None, seconds: float) -> Train:
    """As many tuples as there is time for, of those that a run would take; of the whole queue, if nothing is said.

    >>> fitting(None, 0.01)
    Train(at_most=None, fraction=1.0, threshold=0, fits=0.01)
    """
    return replace(train or WHOLE_QUEUE, fits=seconds)
