"""Each family on values computed by hand."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from tests.metrics.builders import query, responses

from headgate.metrics import Records, measure
from headgate.metrics.measures import inversion, qos, response, slowdown, starvation, throughput
from headgate.metrics.measures.over_time import Bins, OverTime, over_time
from headgate.metrics.measures.response import Distribution
from headgate.model import HeadgateError, QoS


def times(records: Records, width: float = 1.0) -> OverTime:
    return over_time(records.by_class(), Bins.over(records.span, width))


def test_percentiles_are_linear_between_neighbours() -> None:
    found = response.summarise(np.arange(1.0, 12.0))
    assert (found.mean, found.p10, found.p25, found.p50, found.p75, found.p90) == (6.0, 2.0, 3.5, 6.0, 8.5, 10.0)
    assert (found.p95, found.p99, found.max) == (10.5, 10.9, 11.0)


def test_weighted_response_is_by_priority_at_every_level() -> None:
    classes = {"a": Distribution(mean=1.0, p50=2.0), "b": Distribution(mean=5.0), "silent": Distribution()}
    found = response.weighted(classes, {"a": 3.0, "b": 1.0, "silent": 100.0})
    assert (found.mean, found.p50, found.max) == (2.0, 2.0, None)


def test_slowdown_of_the_published_example() -> None:
    # Sharaf et al. 2006, example 1 under HR: q1 (5 ms) ends at 5, 10 and 15 ms, q2's one result at 19 ms.
    hr = np.array([5 / 5, 10 / 5, 15 / 5, 19 / 2])
    found = slowdown.summarise(hr)
    assert (found.mean, found.max) == (3.875, 9.5)
    assert found.l2 == pytest.approx((1 + 4 + 9 + 90.25) ** 0.5)


def test_qos_averages_over_queries_and_over_tuples() -> None:
    graph = QoS.of([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]])
    queries = [
        query("a", [(0.0, 1.0)], qos=graph),  # just in time: 1
        query("b", [(0.0, 2.0), (0.0, 2.0), (0.0, 5.0)], qos=graph),  # 0.5, 0.5, 0
        query("c", [(0.0, 9.0)]),  # no graph: does not count
    ]
    found = qos.summarise(Records(queries, {"only": 1.0}).class_results())
    assert found.mean == pytest.approx((1 + 1 / 3) / 2)
    assert found.per_tuple == pytest.approx(0.5)
    assert found.missed == 3


def test_a_rounding_error_misses_no_deadline() -> None:
    step = QoS.of([[0.0, 1.0], [0.3, 1.0], [0.3, 0.0]])
    late = np.array([0.4 - 0.1])  # a little more than 0.3
    assert late[0] > 0.3
    assert qos.missed(step, late) == 0
    assert qos.utility(step, late).tolist() == [1.0]


def test_no_graph_has_no_deadline_and_no_quality() -> None:
    assert qos.summarise(Records([query("a", [(0.0, 1.0)])], {"only": 1.0}).class_results()) == qos.Quality()
    flat = QoS.of([[0.0, 1.0]])
    assert qos.summarise(Records([query("a", [], qos=flat)], {"only": 1.0}).class_results()) == qos.Quality(missed=0)
    assert qos.missed(flat, np.array([1e9])) == 0


def test_throughput_counts_whole_seconds() -> None:
    emission = np.array([0.5, 1.0, 1.5, 2.0, 2.2])  # per second: 1, 2 and, by the closed end, what is at 2.0
    assert throughput.summarise(emission[:4], 2.0).deviation == pytest.approx(1.0)
    assert throughput.summarise(emission, 2.5).mean == 2.0
    assert throughput.summarise(emission[:1], 0.75).deviation is None


def test_bins_begin_where_decimals_say() -> None:
    bins = Bins.over(1.0, 0.1)
    assert bins.count == 10
    assert bins.index(np.array([0.3, 0.6, 0.7, 1.0])).tolist() == [3, 6, 7, 9]


def test_a_bin_has_a_width() -> None:
    with pytest.raises(HeadgateError, match="wider than 0 s"):
        Bins.over(1.0, 0.0)


def test_inversion_is_the_quotient_of_priorities_times_the_excess() -> None:
    records = Records(
        [responses("a", [0.5], [0.3], "top"), responses("b", [0.5], [0.2], "mid"), responses("c", [0.5], [0.4], "low")],
        {"top": 60.0, "mid": 20.0, "low": 10.0},
        seconds=1.0,
    )
    classes = {name: response.summarise(columns.response) for name, columns in records.by_class().items()}
    found = inversion.summarise(classes, times(records), records.priorities)
    for level in response.LEVELS:
        upper, lower = found.levels[level]
        assert (upper.above, upper.below) == ("top", "mid")
        assert upper.ratio == pytest.approx(3 * 0.5)
        assert (lower.above, lower.below, lower.ratio) == ("mid", "low", 0.0)
    assert found.cumulated == pytest.approx(1.5)


def test_inversion_cumulates_over_the_bins_in_which_both_have_results() -> None:
    records = Records(
        [
            responses("a", [0.5, 1.5, 2.5], [0.2, 0.4, 0.9], "top"),
            responses("b", [0.5, 1.5], [0.1, 0.2], "low"),
        ],
        {"top": 2.0, "low": 1.0},
        seconds=3.0,
    )
    ratios = inversion.over_time(times(records), records.priorities)["top", "low"]
    assert ratios[:2] == pytest.approx([2.0, 2.0])
    assert np.isnan(ratios[2])
    silent = {"top": Distribution(), "low": Distribution()}
    found = inversion.summarise(silent, times(records), records.priorities)
    assert found.cumulated == pytest.approx(4.0)
    assert found.levels["p50"] == (inversion.Pair("top", "low", None),)


def converged(
    records: Records, priorities: Mapping[str, float], updates: Sequence[float] = ()
) -> starvation.Convergence:
    over = times(records)
    return starvation.converged(inversion.inverted_bins(over, priorities), over.bins.width, updates)


def test_equal_response_times_invert_if_that_is_wanted() -> None:
    records = Records(
        [responses("a", [0.5, 1.5], [0.2, 0.1], "top"), responses("b", [0.5, 1.5], [0.2, 0.3], "low")],
        {"top": 2.0, "low": 1.0},
        seconds=3.0,
    )
    plain, strict = (measure(records, 1.0, equal_inverts=equal) for equal in (False, True))
    assert (plain.inversion.bins, plain.convergence.time) == (0, 0.0)
    assert (strict.inversion.bins, strict.convergence.time) == (1, 1.0)
    assert strict.inversion.cumulated == plain.inversion.cumulated == 0.0  # by the formula
    same = inversion.pairs({"top": Distribution(p50=0.2), "low": Distribution(p50=0.2)}, records.priorities, "p50")[0]
    assert (same.ratio, same.is_inverted(), same.is_inverted(equal_inverts=True)) == (0.0, False, True)
    other = inversion.pairs({"top": Distribution(p50=0.1), "low": Distribution(p50=0.2)}, records.priorities, "p50")[0]
    assert not other.is_inverted(equal_inverts=True)


def test_convergence_is_after_the_last_inverted_bin() -> None:
    records = Records(
        [
            responses("a", [0.5, 1.5, 2.5], [0.2, 0.4, 0.1], "top"),
            responses("b", [0.5, 1.5, 2.5], [0.1, 0.2, 0.2], "low"),
        ],
        {"top": 2.0, "low": 1.0},
        seconds=3.0,
    )
    assert converged(records, records.priorities, [0.25, 1.75]) == (starvation.Convergence(2.0, 2, 1.75))
    assert converged(records, {"top": 1.0, "low": 2.0}).time is None
    assert converged(records, {"top": 1.0, "low": 1.0}).time == 0.0


def test_starvation_ratio_is_lowest_over_highest() -> None:
    classes = {"top": Distribution(mean=2.0), "mid": Distribution(mean=9.0), "low": Distribution(mean=5.0)}
    empty = times(Records([], {"top": 3.0, "mid": 2.0, "low": 1.0}))
    assert starvation.summarise(classes, empty, {"top": 3.0, "mid": 2.0, "low": 1.0}).ratio == 2.5
    assert starvation.summarise(classes, empty, {"top": 1.0, "mid": 1.0, "low": 1.0}).ratio is None
    silent = classes | {"low": Distribution()}
    assert starvation.summarise(silent, empty, {"top": 3.0, "mid": 2.0, "low": 1.0}).ratio is None


STEADY = np.full(12, 10)
CLIMB = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


@pytest.mark.parametrize(
    ("series", "arrivals", "starves"),
    [
        (CLIMB, STEADY, True),
        (CLIMB[:5], STEADY, False),  # four rises
        (np.insert(CLIMB, 3, np.nan), STEADY, True),  # a bin without results says nothing
        (np.insert(CLIMB, 3, 1.0), STEADY, False),  # a relapse
        (10 + 0.01 * CLIMB, STEADY, False),  # hardly more than noise
        (np.array([2.0, 1.0, *CLIMB]), np.array([1, 1, 9, 9, 9, 9, 9, 9]), False),  # more input explains it
        (np.array([2.0, 1.0, *CLIMB]), np.array([9, 9, 1, 1, 1, 1, 1, 1]), True),  # less does not
        (np.array([]), np.array([]), False),
        (np.full(4, np.nan), STEADY, False),
    ],
)
def test_rising(series: np.ndarray, arrivals: np.ndarray, starves: bool) -> None:
    assert starvation.rises(series, arrivals) is starves
