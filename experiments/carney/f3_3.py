"""Figure 3.3: a thread for every box, or one scheduler with a worker."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from headgate.reproduction import Comparison, Experiment, Form, Holds, Measurements, Order, Shape, Simulation, Size
from headgate.workload import Workload, parse_workload

POLICIES = {"Aurora": "aaat, order=sorted, schedule=1000", "threads": "thread-per-box"}
CHAINS = (10, 20, 40, 60, 80)
FILE = """
[workload]
name = "chains"
duration = "10 s"
train = "all"
run_overhead = "15 us"
decision_cost = "%s ns"

[[stream]]
name = "in"
count = %d
arrivals = "poisson, rate=18"

[[query]]
name = "q"
count = %d
from = ["in$number"]
operators = [%s]
"""
BOXES = ", ".join(['"select, cost=100us, overhead=15us"'] * 5)


def chains(count: int) -> Workload:
    """Queries of five filters each, each over a stream of its own."""
    return parse_workload(FILE % (DECISION, count, count, BOXES))


DECISION = "45"


def compare(found: Measurements) -> Iterator[Comparison]:
    curves = {name: found.curve("response_time.mean", name) for name in POLICIES}
    for name, curve in curves.items():
        yield Shape(f"latency over boxes, {name}", Form.RISING, curve)
    for boxes in (min(curves["threads"]), max(curves["threads"])):
        yield Order(f"latency with {boxes:g} boxes", ("Aurora", "threads"), found.samples("response_time.mean", boxes))
    grows = {name: curve[max(curve)] / curve[min(curve)] for name, curve in curves.items()}
    yield Order("growth of latency from the fewest to the most boxes", ("Aurora", "threads"), grows)
    far = grows["threads"] / grows["Aurora"]
    yield Holds("far faster: at least twice as fast", far.mean >= 2.0, f"{far} times as fast")


EXPERIMENT = Experiment(
    document="carney",
    id="3.3",
    source="figure 3.3, section 3.2.3",
    claim="latency over the number of boxes: degrades almost linearly in Aurora, and far faster with a thread "
    "for every box",
    runs={
        (name, 5 * count): Simulation(workload=partial(chains, count), policy=policy)
        for name, policy in POLICIES.items()
        for count in CHAINS
    },
    compare=compare,
    quick=Size(seconds=4.0, seeds=1),
    full=Size(seconds=60.0, seeds=3),
    paragraph="What makes threads slow in the document, caches, locks and switching, is modelled by one number "
    "only: at each switch the operating system looks at every thread. The figure has no numbers in the "
    "text, and the number of queries and their rates are not printed: 18 tuples a second for each query "
    "here, with which the 400 boxes ask for 72 % of the time.",
    sensitive="The cost of a look at a thread, for which the calibrated cost of a decision is taken; the rate of "
    "each query.",
)
