"""Figure 3.10: who spends what is not spent on tuples."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.carney.batching import batches
from headgate.reproduction import Comparison, Experiment, Measurements, Order, Size


def compare(found: Measurements) -> Iterator[Comparison]:
    yield Order("the scheduler's share of overhead", ("TAAT", "BAAT", "MC"), found.samples("scheduler"))


EXPERIMENT = Experiment(
    document="carney",
    id="3.10 shares",
    source="figure 3.10, section 3.4.5",
    claim="the more is batched, the larger the share of the scheduler in overheads",
    runs=batches(),
    compare=compare,
    quick=Size(seconds=0.5, seeds=1),
    full=Size(seconds=10.0, seeds=3),
    paragraph="The document gives two reasons: calls of boxes become fewer by more than decisions do, and "
    "schedulers that batch take longer to make a plan. Here a decision for a superbox costs no more than "
    "one for a box, since the order of its boxes is known beforehand, and one decision stands for up to "
    "121 calls; so the scheduler's share falls. Counting a look for each box of a plan was tried: then "
    "the scheduler has four fifths of the overhead of superboxes, which take longer than trains.",
    sensitive="What making a plan for a superbox costs, of which the document says nothing but that it is more.",
)
