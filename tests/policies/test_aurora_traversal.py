"""Superboxes (Carney 2005, section 3.3.1): which boxes are called, what that costs, and when results leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sim.builders import emissions, responses, results, workload

from headgate.core import Arrived, Scheduler
from headgate.metrics import measure
from headgate.model import Run, Train
from headgate.policies.aurora.traversal import TRAVERSALS, expected_latency, memory_rate
from headgate.policies.checks import Situation
from headgate.policies.registry import create
from headgate.sim import simulate
from headgate.stats.boxes import Box
from headgate.workload import Workload

# b4 → b2, b5 → b3 → b2, b2 → b1, b6 → b1: each box has a stream of its own besides.
FEEDS = {4: [], 5: [], 3: [5], 2: [4, 3], 6: [], 1: [2, 6]}
DOWNSTREAM = {1: (1,), 2: (2, 1), 3: (3, 2, 1), 4: (4, 2, 1), 5: (5, 3, 2, 1), 6: (6, 1)}
MIN_LATENCY = (1, 2, 1, 6, 1, 4, 2, 1, 3, 2, 1, 5, 3, 2, 1)
TABLE_3_3 = {1: (0.9, 2), 2: (0.4, 2), 3: (0.5, 1), 4: (1.0, 2), 5: (0.4, 3), 6: (0.6, 1)}  # selectivity, cost


def boxes(numbers: Mapping[int, tuple[float, float]]) -> list[Box]:
    """The tree's boxes in post-order."""
    found = []
    for number in FEEDS:
        selectivity, cost = numbers[number]
        result_cost = cost
        for each in DOWNSTREAM[number]:
            result_cost /= numbers[each][0]
        found.append(Box(number, DOWNSTREAM[number], cost, selectivity, result_cost, 1.0))
    return found


def tree(cost: str, overhead: str) -> Workload:
    """The example's tree with one tuple before every box."""
    operators = [
        f"{'union' if inputs else 'select'}, as=b{number}, cost={cost}, overhead={overhead}, "
        f"from=[{', '.join([*(f'b{each}' for each in inputs), f's{number}'])}]"
        for number, inputs in FEEDS.items()
    ]
    streams = {f"s{number}": "at, times=[0]" for number in FEEDS}
    return workload({"q": {"operators": operators}}, streams, duration="100 s")


def test_min_cost_calls_every_box_once_after_those_that_feed_it() -> None:
    assert TRAVERSALS["min-cost"](boxes(dict.fromkeys(FEEDS, (1.0, 1.0)))) == (4, 5, 3, 2, 6, 1)


def test_min_latency_takes_the_cheapest_result_first() -> None:
    assert TRAVERSALS["min-latency"](boxes(dict.fromkeys(FEEDS, (1.0, 1.0)))) == MIN_LATENCY


def test_min_memory_of_table_3_3() -> None:
    table = boxes(TABLE_3_3)
    rates = {box.operator: memory_rate(box) for box in table}
    assert rates == pytest.approx({1: 0.05, 2: 0.3, 3: 0.5, 4: 0.0, 5: 0.2, 6: 0.4})
    assert TRAVERSALS["min-memory"](table) == (3, 6, 2, 5, 3, 1, 4, 2, 1)


@pytest.mark.parametrize(("cost", "overhead"), [(1.0, 0.0), (1.0, 1.0), (0.5, 2.0), (0.25, 4.0)])
def test_costs_and_latencies_of_the_example(cost: float, overhead: float) -> None:
    given = tree(f"{cost}s", f"{overhead}s")
    frugal = simulate(given, "aaat")
    assert frugal.busy == pytest.approx(15 * cost + 6 * overhead)
    assert responses(frugal).mean() == pytest.approx(12.5 * cost + 6 * overhead)
    prompt = simulate(given, "aaat, traversal=min-latency")
    assert prompt.busy == pytest.approx(15 * cost + 15 * overhead)
    assert responses(prompt).mean() == pytest.approx(43 / 6 * (cost + overhead))
    assert prompt.runs == frugal.runs == 1


@pytest.mark.parametrize(("ratio", "prompt_wins"), [(0.21, False), (0.23, True)])
def test_min_latency_wins_where_work_exceeds_a_fifth_of_the_overhead(ratio: float, prompt_wins: bool) -> None:
    given = tree(f"{ratio}s", "1s")
    prompt, frugal = (responses(simulate(given, f"aaat, traversal={name}")) for name in ("min-latency", "min-cost"))
    assert bool(prompt.mean() < frugal.mean()) is prompt_wins


@pytest.mark.parametrize(
    ("ratio", "wins"), [(0.05, "min-cost"), (0.21, "min-cost"), (0.23, "min-latency"), (2.0, "min-latency")]
)
def test_the_cost_model_chooses_the_traversal(ratio: float, wins: str) -> None:
    """Section 3.4.3: which one does better follows from cost over overhead; in the example from 0.22 on min-latency."""
    given = tree(f"{ratio}s", "1s")
    chosen = simulate(given, "aaat, traversal=auto")
    assert emissions(chosen) == emissions(simulate(given, f"aaat, traversal={wins}"))


@pytest.mark.parametrize(("cost", "overhead"), [(1.0, 0.0), (1.0, 1.0), (0.5, 2.0)])
def test_the_cost_model_gives_tables_3_1_and_3_2(cost: float, overhead: float) -> None:
    tree_of_six = [box._replace(overhead=overhead) for box in boxes(dict.fromkeys(FEEDS, (1.0, cost)))]
    expected = {
        name: expected_latency(tree_of_six, TRAVERSALS[name](tree_of_six), dict.fromkeys(FEEDS, 1.0))
        for name in ("min-cost", "min-latency")
    }
    assert expected["min-cost"] == pytest.approx(12.5 * cost + 6 * overhead)
    assert expected["min-latency"] == pytest.approx(43 / 6 * (cost + overhead))


def test_both_are_alike_where_only_the_leaf_of_a_chain_has_tuples() -> None:
    chain = ["select, cost=1s, overhead=1s"] * 4
    found = [
        emissions(simulate(workload({"q": chain}, "at, times=[0], batch=3"), f"aaat, traversal={name}"))
        for name in ("min-cost", "min-latency")
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("traversal", TRAVERSALS)
def test_the_results_are_the_same_whatever_the_order(traversal: str) -> None:
    chains = {"p": ["select, cost=1ms, selectivity=0.5"] * 3, "q": ["select, cost=5ms, selectivity=0.9"] * 2}
    given = workload(chains, "poisson, rate=100", duration="2 s")
    assert results(simulate(given, f"aaat, traversal={traversal}")) == results(simulate(given, "fcfs"))


@st.composite
def superboxes(draw: st.DrawFn) -> list[Box]:
    """Trees: each box feeds a later one, the last none."""
    count = draw(st.integers(1, 8))
    feeds = [draw(st.integers(number + 1, count - 1)) for number in range(count - 1)]
    downstream: dict[int, tuple[int, ...]] = {count - 1: (count - 1,)}
    for number in reversed(range(count - 1)):
        downstream[number] = (number, *downstream[feeds[number]])
    shares, costs = st.floats(0.0, 2.0), st.floats(0.0, 5.0)
    return [
        Box(number, downstream[number], draw(costs), draw(shares), draw(costs), draw(st.floats(1.0, 9.0)))
        for number in range(count)
    ]


@given(superboxes(), st.sampled_from(sorted(TRAVERSALS)))
def test_a_traversal_empties_the_superbox(tree: Sequence[Box], traversal: str) -> None:
    waiting = {box.operator for box in tree}
    onward = {box.operator: box.downstream[1:2] for box in tree}
    for call in TRAVERSALS[traversal](tree):
        if call in waiting:
            waiting.remove(call)
            waiting.update(onward[call])
    assert not waiting


def test_listed_queries_are_each_called_in_their_own_order() -> None:
    slow, quick = "select, cost=2s, selectivity=0.5", "select, cost=1s, selectivity=0.1"
    network = Situation({"p": [slow, quick], "q": [quick, slow]}).network()
    scheduler = Scheduler(network, "aaat, traversal=min-memory, schedule=2")
    scheduler.event(Arrived("s", 0.0), 0.0)
    first, second = scheduler.next(0, 0.0), scheduler.next(1, 0.0)
    assert isinstance(first, Run)
    assert isinstance(second, Run)
    assert scheduler.decisions == 1
    assert (first.calls, second.calls) == ((1, 0, 1), (2, 3))


@pytest.mark.parametrize(
    ("policy", "train"),
    [
        ("taat", Train(at_most=1)),
        ("baat", Train()),
        ("aaat", Train()),
        ("baat, train=0.2", Train(fraction=0.2)),
        ("aaat, ratio=0.3, threshold=50", Train(fraction=0.3, threshold=50)),
        ("slope-slack", Train()),
        ("fixed-priority, push=true", Train()),
        ("bucketing, train=1", Train(at_most=1)),
    ],
)
def test_trains(policy: str, train: Train) -> None:
    assert create(policy).train == train


def test_batches_save_calls() -> None:
    """Ten tuples through three boxes: a call for every tuple and box, for every box, and all boxes in one run."""
    given = workload({"q": ["select, cost=1ms, overhead=1ms"] * 3}, "at, times=[0], batch=10")
    tuple_at_a_time, box_at_a_time, application = (simulate(given, name) for name in ("taat", "baat", "aaat"))
    assert [records.runs for records in (tuple_at_a_time, box_at_a_time, application)] == [30, 3, 1]
    assert tuple_at_a_time.busy == pytest.approx(0.060)
    assert box_at_a_time.busy == application.busy == pytest.approx(0.033)


def test_a_fraction_of_the_queue_is_taken() -> None:
    """Of ten a half, of the five left two, then one each."""
    given = workload({"q": "select, cost=1ms"}, "at, times=[0], batch=10")
    assert simulate(given, "baat, train=0.5").runs == 5


def test_overheads_are_told_apart() -> None:
    """Section 3.4.5: by calls (the worker), by runs (the storage), by decisions (the scheduler)."""
    chain, ten = ["select, cost=5ms, overhead=2ms"] * 3, "at, times=[0], batch=10"
    given = workload({"q": chain}, ten, run_overhead="3 ms", decision_cost="1 ms")
    report = {name: measure(simulate(given, name)) for name in ("taat", "baat", "aaat")}
    found = {
        name: [one.value(f"overhead.{who}") or 0.0 for who in ("worker", "storage", "scheduler")]
        for name, one in report.items()
    }
    assert found["taat"] == pytest.approx([30 * 0.002, 30 * 0.003, 30 * 0.001])
    assert found["baat"] == pytest.approx([3 * 0.002, 3 * 0.003, 3 * 0.001])
    assert found["aaat"] == pytest.approx([3 * 0.002, 0.003, 0.001])
    busy = [(one.value("utilisation") or 0.0) * one.seconds for one in report.values()]
    assert busy == pytest.approx([30 * 0.005 + worker + storage for worker, storage, _ in found.values()])


@pytest.mark.parametrize("policy", ["fcfs", "fcfs, train=all"])
def test_the_fast_path_tells_overheads_too(policy: str) -> None:
    given = workload({"q": ["select, cost=1ms, overhead=2ms, selectivity=0.5"] * 2}, "constant, rate=10")
    records = simulate(given, policy)
    second = records.busy - 100 * 0.003
    assert records.call_overhead == pytest.approx(100 * 0.002 + second * 2 / 3)


def test_a_thread_per_box_degrades_with_the_number_of_boxes() -> None:
    """Figure 3.3: chains of five filters; the operating system looks at every thread that can run."""
    latencies = {}
    for chains in (4, 8):
        queries = {
            f"q{number}": {"from": [f"s{number}"], "operators": ["select, cost=1ms"] * 5} for number in range(chains)
        }
        given = workload(
            queries,
            dict.fromkeys((f"s{number}" for number in range(chains)), "poisson, rate=20"),
            decision_cost="100 us",
        )
        for policy in ("aaat", "thread-per-box"):
            latencies[policy, chains] = float(responses(simulate(given, policy)).mean())
    grows = {policy: latencies[policy, 8] / latencies[policy, 4] for policy in ("aaat", "thread-per-box")}
    assert latencies["aaat", 4] < latencies["thread-per-box", 4]
    assert grows["thread-per-box"] > 1.5 * grows["aaat"]
