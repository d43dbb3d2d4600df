"""The simulator: virtual time and modelled costs around the real scheduler."""

from headgate.sim.load import offered_load, scaled
from headgate.sim.simulate import Simulation, simulate

__all__ = ["Simulation", "offered_load", "scaled", "simulate"]
