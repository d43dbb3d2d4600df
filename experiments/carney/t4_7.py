"""Figure 4.18 and table 4.7: overload that comes and goes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headgate.metrics import Records
from headgate.model import GRACE
from headgate.reproduction import Comparison, Experiment, Measurements, Order, Simulation, Size, Value, Values

POLICIES = {"Fixed": "fixed-priority", "SlopeSlack": "slope-slack"}
ROUND, CALM = 39.102, 33.333  # seconds: 40 000 tuples at 60 % of the capacity, then 15 000 at 130 %
PUBLISHED = {
    "Fixed": {"overload": 3073 / (3073 + 41965), "calm": 146741 / (146741 + 8221), "qos.per_tuple": 0.70},
    "SlopeSlack": {"overload": 19426 / (19426 + 25596), "calm": 147465 / (147465 + 7513), "qos.per_tuple": 0.81},
}
WORDS = {
    "overload": "share in time of what came in overload",
    "calm": "share in time of what came otherwise",
    "qos.per_tuple": "mean QoS",
}


def in_time(records: Records) -> Values:
    """Which share of the tuples met their deadlines, of those that came in overload and of the others."""
    made = {"overload": 0, "calm": 0}
    came = {"overload": 0, "calm": 0}
    for query in records.queries:
        assert query.qos is not None
        columns = query.columns()
        late = columns.response - GRACE > query.qos.deadline
        burst = np.mod(columns.arrival, ROUND) >= CALM
        for name, those in (("overload", burst), ("calm", ~burst)):
            came[name] += int(those.sum())
            made[name] += int((those & ~late).sum())
    return {name: made[name] / came[name] if came[name] else None for name in made}


def compare(found: Measurements) -> Iterator[Comparison]:
    for measure in ("overload", "qos.per_tuple"):
        yield Order(WORDS[measure], ("Fixed", "SlopeSlack"), found.samples(measure))
    for name, figures in PUBLISHED.items():
        for measure, figure in figures.items():
            yield Value(f"{name}: {WORDS[measure]}", figure, found.sample(measure, name))


EXPERIMENT = Experiment(
    document="carney",
    id="T4.7",
    source="figure 4.18 and table 4.7, section 4.6.2",
    claim="in turn 40 000 tuples at 60 % of the capacity and 15 000 at 130 %: mean QoS 0.70 with fixed "
    "priorities and 0.81 with slope-slack; in overload 7 % and 43 % of the tuples are in time",
    runs={
        name: Simulation(
            workload="carney-4.7", policy=f"{policy}, order=sorted, push=true, schedule=10", measure=in_time
        )
        for name, policy in POLICIES.items()
    },
    compare=compare,
    quick=Size(seconds=40.0, seeds=1),
    full=Size(seeds=2),
    paragraph="In overload fixed priorities make far more deadlines here than published. They keep the tight "
    "applications, half of the load, within their deadlines for much of an overload of 5.8 s, and lose "
    "the loose ones when these have waited for 2 s; the document says that nearly all tuples of both "
    "kinds are late, but also that QoS falls to 0.5 only. All else is within the tolerance.",
    sensitive="What the capacity is: that of the boxes alone here, to which overheads come, as in section 3.4.1.",
)
