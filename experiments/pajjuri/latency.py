"""Figure 6.1: mean latency over the data rate."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.pajjuri.strategies import RATES, over_rates
from headgate.reproduction import Comparison, Experiment, Form, Measurements, Order, Picture, Ratio, Shape, Size


def compare(found: Measurements) -> Iterator[Comparison]:
    path, segment = (found.curve("response_time.mean", name) for name in ("path capacity", "segment"))
    for rate in path:
        at = found.samples("response_time.mean", rate)
        yield Order(f"mean latency at {rate:g}/s", ("path capacity", "simplified segment", "segment"), at)
    ratios = [path[rate] / segment[rate] for rate in path]
    yield Ratio("path capacity over segment, mean over the rates", 0.87, sum(ratios[1:], ratios[0]) / len(ratios))
    for name in ("path capacity", "segment"):
        yield Shape(f"latency over the rate, {name}", Form.RISING, found.curve("response_time.mean", name))


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("response_time.mean"), "tuples a second", "response_time.mean")


EXPERIMENT = Experiment(
    document="pajjuri",
    id="6.1",
    source="figure 6.1, section 6.2",
    claim="latency: path capacity lowest, simplified segment below segment; path capacity 13 % below segment",
    runs=over_rates(RATES, quick=(100, 900)),
    compare=compare,
    picture=picture,
    quick=Size(seeds=1),
    full=Size(seeds=5),
    sensitive="How many results the join gives, how far the query is overloaded, and the quantum.",
)
