from __future__ import annotations

from headgate.model import Level, Unit
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats


@register("fifo")
class FirstInFirstOut(Linear):
    """Takes a leaf's tuples and pushes them through to the end before newer ones.

    Where `fcfs` runs a query at once, this one decides after every operator. A tuple that is half way is older than
    those that follow it, or as old and nearer to the output, so it goes on first. Output comes at a steady pace, but
    queues grow while dear operators work.

    >>> from headgate.policies.checks import Situation
    >>> chain = {"q": ["select, name=first", "select, name=second"]}
    >>> Situation(chain).order("fifo")
    ['second', 'first']
    >>> Situation(chain, heads={"q": [0.1, 0.2]}).order("fifo")
    ['first', 'second']
    """

    source = "Pielech 2004, section 4.3"
    rule = "oldest tuple, then nearest the output"
    levels = (Level.OPERATOR, Level.QUERY)

    def line(self, unit: Unit, stats: Stats) -> Line:
        return 0.0, 1.0
