"""What policies may read: measured and derived statistics, each defined once, and the cost model."""

from headgate.stats.cost import CostModel
from headgate.stats.derived import STATISTICS, DeclaredStats, Stats
from headgate.stats.measured import Measured, OperatorStatistics
from headgate.stats.ratio import ratio

__all__ = ["STATISTICS", "CostModel", "DeclaredStats", "Measured", "OperatorStatistics", "Stats", "ratio"]
