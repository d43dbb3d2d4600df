from __future__ import annotations

from headgate.model import Level, Unit
from headgate.policies.contract import Reading
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats


@register("weighted-hr")
class WeightedHighestRate(Linear):
    """Highest product of output rate and class priority first.

    The plainest way to make `hr` heed classes. A dear or unproductive query of an important class still waits behind
    cheap ones of a lesser class, and under load the least class starves. On Spark, selectivities are measured: if the
    filters of an important class let little through, it may get nothing for as long as others have work.

    >>> from headgate.policies.checks import Situation
    >>> queries = {"alarm": "select, cost=5ms", "report": "select, cost=2ms"}
    >>> of, worth = {"alarm": "gold", "report": "tin"}, {"gold": 6.0, "tin": 1.0}
    >>> Situation(queries, classes=of, priorities=worth).order("weighted-hr")
    ['alarm', 'report']
    """

    source = "Al Moakar 2013, section 5.3"
    rule = "highest P·S/C"
    needs = frozenset({"output_rate", "class_priority"})
    levels = (Level.QUERY, Level.OPERATOR, Level.PATH)
    reading = Reading.LAST

    def line(self, unit: Unit, stats: Stats) -> Line:
        priority = stats.class_priority(unit)
        return priority * stats.output_rate(unit) if priority else 0.0, 0.0
