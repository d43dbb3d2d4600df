"""What policies may read: measured and derived statistics, each defined once, and the cost model."""

from headgate.stats.cost import CostModel
from headgate.stats.derived import STATISTICS, DeclaredStats, Stats
from headgate.stats.measured import Measured, OperatorStatistics

__all__ = ["STATISTICS", "CostModel", "DeclaredStats", "Measured", "OperatorStatistics", "Stats"]
