"""Lower bounds: what no schedule of a workload can go below, whatever it knows.

`needed_work` says what every result needs, `relaxations` how soon that can be done at best, `clairvoyant` tries all
orders of a few jobs, and `lower_bounds` puts them together for a workload.
"""

from headgate.sim.bounds.lower_bounds import Bounds, lower_bounds

__all__ = ["Bounds", "lower_bounds"]
