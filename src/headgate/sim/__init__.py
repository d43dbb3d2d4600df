"""The simulator: virtual time and modelled costs around the real scheduler."""

from headgate.sim.aggregated import AggregatedRecords, aggregate
from headgate.sim.load import offered_load, scaled
from headgate.sim.simulate import PATHS, Simulation, simulate
from headgate.sim.size import check_size

__all__ = [
    "PATHS",
    "AggregatedRecords",
    "Simulation",
    "aggregate",
    "check_size",
    "offered_load",
    "scaled",
    "simulate",
]
