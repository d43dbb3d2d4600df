"""The simulator: virtual time and modelled costs around the real scheduler."""

from headgate.sim.load import offered_load, scaled
from headgate.sim.simulate import Simulation, simulate
from headgate.sim.size import check_size

__all__ = ["Simulation", "check_size", "offered_load", "scaled", "simulate"]
