"""The documents' published results, run again: what was published beside what is measured, with a verdict.

An experiment is a module `experiments/<document>/<name>.py` with an `EXPERIMENT`: the runs it needs, the published
figures, and how both are compared. All names for it are here:

>>> from headgate.reproduction import Experiment, Measurements, Order, Ratio, Size, grid
>>> def compare(found: Measurements):
...     at = found.samples("slowdown.mean", 0.9)
...     yield Order("mean slowdown at 0.9", ("hnr", "hr", "fcfs"), at)
...     yield Ratio("HNR over HR at 0.9", 0.82, at["hnr"] / at["hr"])
>>> EXPERIMENT = Experiment(
...     document="sharaf", id="F5", source="figure 5", claim="HNR has the lowest mean slowdown",
...     runs=grid("sharaf", ["hr", "hnr", "fcfs"], "load", [0.9]),
...     compare=compare, quick=Size(seconds=1.0, seeds=1), full=Size(seconds=100.0, seeds=5),
... )
>>> list(EXPERIMENT.runs)
[('hr', 0.9), ('hnr', 0.9), ('fcfs', 0.9)]

`experiment` says what an experiment is, `comparisons` what can be compared and the rule of the verdicts, `measurements`
what `compare` gets; `catalogue` finds experiments, `plan` lists their runs, `tasks` runs them as one Spark job,
`outcome` has the verdicts, `report` and `pictures` write them.
"""

from headgate.reproduction.comparisons import (
    Bound,
    Comparison,
    Crossing,
    Form,
    Holds,
    Order,
    Ratio,
    Shape,
    Value,
    Verdict,
    best_place,
    crossing,
    verdict,
)
from headgate.reproduction.experiment import (
    Calculation,
    Document,
    Experiment,
    Picture,
    Run,
    Simulation,
    Size,
    Values,
    grid,
)
from headgate.reproduction.measurements import Key, Measurements
from headgate.reproduction.sample import Sample

__all__ = [
    "Bound",
    "Calculation",
    "Comparison",
    "Crossing",
    "Document",
    "Experiment",
    "Form",
    "Holds",
    "Key",
    "Measurements",
    "Order",
    "Picture",
    "Ratio",
    "Run",
    "Sample",
    "Shape",
    "Simulation",
    "Size",
    "Value",
    "Values",
    "Verdict",
    "best_place",
    "crossing",
    "grid",
    "verdict",
]
