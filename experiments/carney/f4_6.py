"""Figures 4.5 and 4.6: the length of the schedule."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.reproduction import Comparison, Experiment, Form, Measurements, Picture, Shape, Simulation, Size

POLICIES = {"SlopeSlack": "slope-slack", "Fixed": "fixed-priority"}
SIZES = (1, 2, 5, 10, 20, 50, 100)
RATE = 85.0  # of each of the 20 streams


def compare(found: Measurements) -> Iterator[Comparison]:
    for name in POLICIES:
        yield Shape(f"{name}: QoS over the length of the schedule", Form.PEAK, found.curve("qos.mean", name))
        yield Shape(f"{name}: time spent scheduling", Form.FALLING, found.curve("scheduling.seconds", name))


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("qos.mean"), "boxes in a schedule", "qos.mean")


EXPERIMENT = Experiment(
    document="carney",
    id="4.6",
    source="figures 4.5 and 4.6, section 4.4.1",
    claim="short schedules spend too much time on decisions, long ones hurry too little, so QoS has its best in "
    "the middle",
    runs={
        (name, size): Simulation(
            workload="carney-4.2", policy=f"{policy}, order=sorted, schedule={size}", settings={"rate": RATE}
        )
        for name, policy in POLICIES.items()
        for size in SIZES
    },
    compare=compare,
    picture=picture,
    quick=Size(seconds=4.0, seeds=1),
    full=Size(seconds=8.0, seeds=3),
    paragraph="With long lists QoS falls as published, and the time spent on decisions falls with the length of the "
    "list. With short ones fixed priorities lose a little, as published, but slope-slack loses nothing: "
    "at the calibrated cost a decision for one box takes 8 to 30 us, beside 130 us for the box itself. "
    "The document's left side needs decisions that cost about as much as a box. At its own rate of 1200 "
    "tuples a second boxes and overheads ask for 78 % of the time here, and no length of the list makes "
    "anything late.",
    sensitive="The rate: the document has 1200 tuples a second, at which nothing is late here for any length; taken "
    "are 1700, where QoS begins to fall. And the cost of a decision.",
)
