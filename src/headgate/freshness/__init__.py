"""Data freshening: which copies of a mirror to refresh how often (Carney 2005, chapter 2).

>>> from headgate.freshness import Elements, plan
>>> found = plan(Elements.of(change_rate=[1, 2, 3, 4, 5], access=[1, 2, 3, 4, 5]), bandwidth=5)
>>> found.frequency.round(2).tolist()
[0.33, 0.67, 1.0, 1.33, 1.67]
"""

from headgate.freshness.certificate import Certificate
from headgate.freshness.elements import Elements
from headgate.freshness.exact import Plan, general_plan, plan

__all__ = ["Certificate", "Elements", "Plan", "general_plan", "plan"]
