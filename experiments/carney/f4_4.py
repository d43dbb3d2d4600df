"""Figure 4.4: QoS over the rate, a box at a time."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.carney.curves import holds_until, in_all
from headgate.reproduction import Comparison, Experiment, Measurements, Order, Picture, Sample, Size, grid

POLICIES = {
    "RR": "baat, order=sorted, schedule=1000",
    "SlopeSlack": "slope-slack, order=sorted, schedule=10",
    "Fixed": "fixed-priority, order=sorted, schedule=10",
}
RATES = tuple(rate / 20 for rate in range(600, 2001, 100))  # of each of the 20 streams
HIGH = 0.9  # a high level of QoS


def compare(found: Measurements) -> Iterator[Comparison]:
    holds = {name: Sample.of(holds_until(in_all(found.curve("qos.mean", name), 20), HIGH)) for name in POLICIES}
    yield Order("tuples a second up to which QoS is at least 0.9", ("RR", "SlopeSlack", "Fixed"), holds)


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("qos.mean"), "rate of each of 20 streams (tuples/s)", "qos.mean")


EXPERIMENT = Experiment(
    document="carney",
    id="4.4",
    source="figure 4.4, section 4.3.2",
    claim="20 applications of five boxes of 0.1 ms, deadlines of 0.01 and 2 s in turn: round robin loses QoS "
    "first, then slope-slack, then fixed priorities",
    runs=grid("carney-4.2", POLICIES, "rate", RATES, quick=RATES[4::3]),
    compare=compare,
    picture=picture,
    quick=Size(seconds=5.0, seeds=1),
    full=Size(seconds=5.0, seeds=3),
    sensitive="The cost of a decision, and which level of QoS counts as held: 0.9 here, the document says a high "
    "level.",
)
