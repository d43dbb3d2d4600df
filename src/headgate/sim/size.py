"""Refuses a workload that is too large to simulate, before the first of its simulations begins."""

from __future__ import annotations

from headgate.sim.feeds import check_arrivals
from headgate.sim.limits import check_bins
from headgate.sim.load import offered_load, scaled
from headgate.workload import LoadOf, Workload


def check_size(workload: Workload, bin: float) -> None:
    """Refuse more arrivals or a longer run than a simulation can take.

    What waits at the end is worked off, so that under a load of 3 a run lasts three times as long as its arrivals.
    """
    check_arrivals(workload)
    seconds = workload.duration
    if workload.drain:
        load = workload.load
        if load is None or workload.load_of is not LoadOf.ALL:
            load = offered_load(scaled(workload))
        seconds *= max(1.0, load)
    check_bins(seconds, bin)
