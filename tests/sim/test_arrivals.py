"""When tuples arrive."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.builders import judged, workload

from headgate.model import HeadgateError
from headgate.sim import offered_load, scaled, simulate
from headgate.sim.arrivals import OnOff, Times, arrivals, rescaled


def times(text: str, duration: float = 10.0, seed: int = 1, directory: Path = Path()) -> Times:
    return arrivals(text, directory).times(duration, np.random.default_rng(seed))


def test_at() -> None:
    assert times("at, times=[3s, 0, 500ms, 12s]").tolist() == [0.0, 0.5, 3.0]
    assert arrivals("at, times=[0, 1s, 2s], batch=4").rate == 4.0


def test_constant() -> None:
    assert times("constant, rate=4", 1.0).tolist() == [0.0, 0.25, 0.5, 0.75]
    assert times("constant, rate=4, start=500ms", 1.0).tolist() == [0.5, 0.75]
    assert times("constant, rate=4, start=2s", 1.0).tolist() == []
    assert len(times("constant, rate=0.1", 30.0)) == 3


@pytest.mark.parametrize("text", ["poisson, rate=200", "onoff, rate=200", "steps, rates=[100, 300], every=1s"])
def test_long_run_rates(text: str) -> None:
    means = [len(times(text, 200.0, seed)) / 200.0 for seed in range(5)]
    assert arrivals(text).rate == 200.0
    assert np.mean(means) == pytest.approx(200.0, rel=0.1)


@pytest.mark.parametrize(
    "text",
    ["poisson, rate=50", "onoff, rate=50, on=1s, off=2s", "steps, rates=[10, 90, 0], every=1s", "constant, rate=7"],
)
def test_times_rise_within_the_duration_and_belong_to_the_seed(text: str) -> None:
    found = times(text)
    assert np.all(np.diff(found) >= 0)
    assert found.min() >= 0.0
    assert found.max() < 10.0
    assert found.tolist() == times(text).tolist()
    longer = times(text, 20.0)
    assert found.tolist() == pytest.approx(longer[longer < 10.0].tolist())


def test_poisson_gaps_are_exponential() -> None:
    gaps = np.diff(times("poisson, rate=100", 300.0))
    assert gaps.mean() == pytest.approx(0.01, rel=0.03)
    assert gaps.std() == pytest.approx(0.01, rel=0.05)


def test_onoff_comes_in_bursts() -> None:
    """Counts per tenth of a second vary far more than those of a Poisson process of the same rate."""
    counts = np.histogram(times("onoff, rate=100, on=1s, off=1s", 300.0), np.arange(0, 300.1, 0.1))[0]
    assert counts.var() > 3 * counts.mean()
    assert (counts == 0).mean() > 0.2


def test_onoff_periods_have_a_heavy_tail() -> None:
    process, random = OnOff(10.0, on=1.0, off=1.0, shape=1.5), np.random.default_rng(1)
    lengths = np.array([process._pareto(1.0, random) for _ in range(50_000)])
    assert lengths.min() >= 1 / 3
    assert lengths.mean() == pytest.approx(1.0, rel=0.15)
    for times_longer in (3.0, 30.0):  # P(X > x) = (least / x)^1.5
        expected = (1 / 3 / times_longer) ** 1.5
        assert (lengths > times_longer).mean() == pytest.approx(expected, rel=0.2)


def test_steps_hold_their_rates_and_begin_again() -> None:
    found = times("steps, rates=[100, 0, 500], every=1s", 60.0)
    phase = found % 3
    assert np.sum(phase < 1) / 20 == pytest.approx(100, rel=0.1)
    assert np.sum((phase >= 1) & (phase < 2)) == 0
    assert np.sum(phase >= 2) / 20 == pytest.approx(500, rel=0.05)


def test_steps_at_given_times() -> None:
    found = times("steps, rates=[10, 100], at=[0, 5s], kind=constant", 10.0)
    assert np.sum(found < 5) == pytest.approx(50, abs=1)
    assert np.sum(found >= 5) == pytest.approx(500, abs=1)
    assert np.diff(found[found < 5]) == pytest.approx(0.1)
    assert np.diff(found[found > 5]) == pytest.approx(0.01)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(0.0, 20.0), min_size=1, max_size=30),
    st.lists(st.tuples(st.floats(0.1, 5.0), st.floats(0.1, 4.0)), min_size=1, max_size=4),
)
def test_a_faster_clock_keeps_the_order_and_the_count(moments: list[float], steps: list[tuple[float, float]]) -> None:
    starts = np.cumsum([0.0, *(length for length, _ in steps[1:])]).tolist()
    found = rescaled(np.sort(np.array(moments)), starts, [factor for _, factor in steps])
    assert len(found) == len(moments)
    assert np.all(np.diff(found) >= -1e-9)


def write(directory: Path, name: str, values: list[float], column: str = "arrival") -> None:
    path = directory / name
    if path.suffix == ".parquet":
        pq.write_table(pa.table({column: values}), path)
    elif path.suffix == ".csv":
        path.write_text("\n".join([f"id,{column}", *(f"x,{value}" for value in values)]) + "\n")
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(f'{{"{column}": {value}}}' for value in values) + "\n")
    else:
        path.write_text("\n".join(map(str, values)) + "\n")


@pytest.mark.parametrize("name", ["t.txt", "t.csv", "t.jsonl", "t.parquet"])
def test_trace(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, [2.0, 0.5, 1.0, 11.0])
    assert times(f"trace, file={name}", directory=tmp_path).tolist() == [0.5, 1.0, 2.0]
    assert arrivals(f"trace, file={name}, batch=7", tmp_path).rate == 7 * 3 / 10.5


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_trace_of_a_named_column(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, [1.0, 2.0], column="ts")
    assert times(f"trace, file={name}, column=ts", directory=tmp_path).tolist() == [1.0, 2.0]
    with pytest.raises(HeadgateError, match="cannot read arrival times"):
        times(f"trace, file={name}", directory=tmp_path)


@pytest.mark.parametrize("text", ["one\n", "1.0,2.0\n", "\x00\n"])
def test_trace_of_something_else(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(HeadgateError, match="cannot read arrival times"):
        times("trace, file=t.txt", directory=tmp_path)


def test_trace_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HeadgateError, match="cannot read arrival times"):
        times("trace, file=none.csv", directory=tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rain, rate=5",
        "poisson",
        "poisson, rate=0",
        "poisson, rate=-1",
        "poisson, rate=inf",
        "poisson, rate=often",
        "poisson, rate=true",
        "poisson, rate=[1, 2]",
        "poisson, rate=5, on=1s",
        "poisson, rate=5, batch=0",
        "poisson, rate=5, batch=1.5",
        "constant, rate=1, start=-1s",
        "constant, rate=1, start=inf",
        "onoff, rate=5, on=0s",
        "onoff, rate=5, shape=1",
        "onoff, rate=5, sources=0",
        "onoff, rate=5, sources=2.5",
        "at",
        "at, times=[]",
        "at, times=3",
        "at, times=[-1]",
        "at, times=[1, x]",
        "steps, rates=[1, 2]",
        "steps, rates=[1, 2], every=0s",
        "steps, rates=[1, 2], every=1s, at=[0, 1s]",
        "steps, rates=[1, 2], at=[0]",
        "steps, rates=[1, 2], at=[1s, 2s]",
        "steps, rates=[1, 2], at=[0, 0]",
        "steps, rates=[1, inf], every=1s",
        "steps, rates=[1, 2], every=1s, kind=other",
        "trace",
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(HeadgateError) as error:
        times(text)
    assert "\n" not in str(error.value)


def test_a_batch_arrives_at_once() -> None:
    records = simulate(workload({"q": "select, cost=1ms"}, "constant, rate=2, batch=3", duration="2 s"), "fcfs")
    assert records.tuples_in == {"s": 12}
    assert records.queries[0].arrival.tolist() == [0.0] * 3 + [0.5] * 3 + [1.0] * 3 + [1.5] * 3


@pytest.mark.parametrize(("load", "cores"), [(0.5, 1), (0.9, 1), (0.8, 3)])
def test_load_is_hit(load: float, cores: int) -> None:
    queries = {
        "a": ["select, cost=1ms, selectivity=0.5", "table-join, cost=7ms, selectivity=0.8", "project, cost=2ms"],
        "b": ["select, name=hot, cost=3ms, selectivity=0.5", "project, cost=1ms"],
        "c": ["select, name=hot, cost=3ms, selectivity=0.5", "select, cost=2ms"],
        "d": ["select, cost=9ms"],
    }
    given = workload(queries, "poisson, rate=100", load=load, cores=cores, duration="100 s")
    assert offered_load(scaled(given)) == pytest.approx(load)
    assert simulate(given, "fcfs").busy / (100 * cores) == pytest.approx(load, rel=0.05)


def test_load_counts_the_results_of_joins() -> None:
    operators = ["join, from=[l, r], cost=1ms, selectivity=0.5, window=500ms", "project, cost=1ms"]
    streams = {"l": "poisson, rate=20", "r": "poisson, rate=30"}
    given = workload({"q": operators}, streams, load=0.6, duration="60 s")
    assert judged(given, "fcfs").utilisation == pytest.approx(0.6, rel=0.08)


def test_load_of_what_costs_nothing_is_refused() -> None:
    with pytest.raises(HeadgateError, match="cost nothing"):
        simulate(workload({"q": "select"}, load=0.5), "fcfs")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("streams", "head", "says"),
    [
        ("poisson, rate=1e12", {}, "stream 's': 10,000,000,000,000 tuples would arrive, a simulation holds 10,000,000"),
        ("constant, rate=1e300", {}, "1e[+]301 tuples would arrive"),
        ("steps, rates=[1e12], every=1s", {}, "10,000,000,000,000 tuples would arrive"),
        ("poisson, rate=100, batch=1000000", {}, "1,000,000,000 tuples would arrive"),
        ("at, times=[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], batch=1000000", {}, "11,000,000 tuples would arrive"),
        ("steps, rates=[10, 20], every=1ns", {}, "more than 1,000,000 steps in one simulation"),
        pytest.param(
            *("onoff, rate=10, shape=1.0000000001", {}, "more than 1,000,000 bursts in one simulation"),
            marks=pytest.mark.long,
        ),
        ({"s": "poisson, rate=6e5", "t": "poisson, rate=6e5"}, {}, "12,000,000 tuples would arrive"),
        ("poisson, rate=10", {"load": 1e9}, "the run would last 100,000,000 s: 1,000,000,000 bins of 0.1 s"),
        ("poisson, rate=10", {"decision_cost": "1e9 s"}, "set drain = false, or give a longer --bin"),
    ],
)
def test_what_would_never_end_is_refused(streams: str | dict[str, str], head: dict[str, Any], says: str) -> None:
    names = streams if isinstance(streams, dict) else ["s"]
    queries = {f"q{name}": {"from": name, "operators": ["select, cost=1ms"]} for name in names}
    with pytest.raises(HeadgateError, match=says):
        simulate(workload(queries, streams, **head), "fcfs")


def test_a_changed_rate_is_counted() -> None:
    changes = [{"at": "1 s", "stream": "s", "rate": 1e12}]
    with pytest.raises(HeadgateError, match="9,000,000,000,010 tuples would arrive"):
        simulate(workload({"q": "select, cost=1ms"}, "poisson, rate=10", changes=changes), "fcfs")


def test_a_burst_that_is_far_longer_than_the_run() -> None:
    moments = times("onoff, rate=1000, on=1000000s, off=1us")
    assert len(moments) == pytest.approx(10_000, rel=0.05)
    assert np.all(np.diff(moments) >= 0)


def test_a_trace_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfarrival\n0.5\n1.5\n")
    assert times("trace, file=t.csv", directory=tmp_path).tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.tsv", "arrival\tid\n0.5\t1\n1.5\t2\n"),
        ("t.csv.gz", "arrival,id\n0.5,1\n1.5,2\n"),
        ("t.json", '[{"arrival": 0.5}, {"arrival": 1.5}]'),
        ("t.json", '{"arrival": 0.5}\n{"arrival": 1.5}\n'),
        ("t.txt.gz", "0.5\n1.5\n"),
    ],
)
def test_traces_of_several_formats(tmp_path: Path, name: str, text: str) -> None:
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert times(f"trace, file={name}", directory=tmp_path).tolist() == [0.5, 1.5]


PACKETS = "onoff, rate=318, on=40ms, off=800ms, shape=1.4, sources=32"  # the fit to BC-pAug89 in docs/workload.md
BELLCORE = {0.01: 3.12, 0.1: 14.3, 1.0: 38.7, 10.0: 179.0}  # index of dispersion by seconds, see there


def dispersion(found: Times, width: float, duration: float) -> float:
    """The variance of the counts in bins of some width over their mean: 1 for a Poisson process."""
    counts = np.histogram(found, np.arange(0, duration + width / 2, width))[0]
    return float(counts.var() / counts.mean())


def test_several_onoff_sources_have_the_rate_and_the_dispersion_of_a_packet_trace() -> None:
    duration, seeds = 600.0, range(12)
    runs = [times(PACKETS, duration, seed) for seed in seeds]
    assert np.mean([len(run) / duration for run in runs]) == pytest.approx(318, rel=0.1)
    for width, published in BELLCORE.items():
        assert np.mean([dispersion(run, width, duration) for run in runs]) == pytest.approx(published, rel=0.5)


def test_the_dispersion_of_several_sources_grows_with_the_time_scale_and_that_of_poisson_does_not() -> None:
    """It grows as the time scale to the power 2H - 1, where H is (3 - shape) / 2: here 0.6."""
    runs = [times(PACKETS, 600.0, seed) for seed in range(12)]
    small, large = (np.mean([dispersion(run, width, 600.0) for run in runs]) for width in (0.1, 10.0))
    assert 0.4 < np.log10(large / small) / 2 < 0.8
    even = times("poisson, rate=318", 600.0)
    assert [dispersion(even, width, 600.0) for width in (0.1, 10.0)] == pytest.approx([1.0, 1.0], abs=0.5)


def test_several_sources_are_stationary_from_the_start() -> None:
    """Were all of them on at first, the first tenth of a second would have some twenty times the mean."""
    firsts = [len(times(PACKETS, 0.1, seed)) / 0.1 for seed in range(300)]
    assert np.mean(firsts) == pytest.approx(318, rel=0.15)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    rate=st.floats(1.0, 200.0),
    on=st.integers(10, 2000),
    off=st.integers(10, 2000),
    shape=st.floats(1.2, 3.0),
    sources=st.integers(1, 30),
    duration=st.floats(0.5, 20.0),
    seed=st.integers(0, 1000),
)
def test_onoff_arrivals_belong_to_the_seed_and_longer_runs_only_add_to_them(
    rate: float, on: int, off: int, shape: float, sources: int, duration: float, seed: int
) -> None:
    text = f"onoff, rate={rate}, on={on}ms, off={off}ms, shape={shape}, sources={sources}"
    found, longer = times(text, duration, seed), times(text, 2 * duration, seed)
    assert np.all(np.diff(found) >= 0)
    assert np.all((found >= 0.0) & (found < duration))
    assert found.tolist() == times(text, duration, seed).tolist()
    assert found.tolist() == longer[longer < duration].tolist()


def test_one_source_is_drawn_as_if_sources_were_not_given() -> None:
    text = "onoff, rate=50, on=1s, off=2s"
    assert times(text + ", sources=1").tolist() == times(text).tolist()


@pytest.mark.parametrize("shape", [1.3, 1.8, 2.5])
def test_the_rest_of_a_period_is_what_a_moment_in_it_leaves(shape: float) -> None:
    """Its distribution is that of the periods' tails: P(rest > x) = ∫ P(X > y) dy from x on, over the mean."""
    process, random = OnOff(10.0, shape=shape), np.random.default_rng(1)
    rests = np.array([process._rest(1.0, random) for _ in range(40_000)])
    least = (shape - 1) / shape
    assert (rests > least / 2).mean() == pytest.approx(1 - least / 2, abs=0.01)
    for x in (1.0, 5.0):
        assert (rests > x).mean() == pytest.approx((least / x) ** (shape - 1) / shape, abs=0.01)
