"""Figure 6.2: largest memory over the data rate."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.pajjuri.strategies import RATES, over_rates
from headgate.reproduction import Comparison, Experiment, Form, Measurements, Order, Picture, Shape, Size


def compare(found: Measurements) -> Iterator[Comparison]:
    for rate in found.curve("queue.bytes.max", "segment"):
        at = found.samples("queue.bytes.max", rate)
        yield Order(f"largest memory at {rate:g}/s", ("segment", "simplified segment", "path capacity"), at)
    for name in ("segment", "path capacity"):
        yield Shape(f"memory over the rate, {name}", Form.RISING, found.curve("queue.bytes.max", name))


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("queue.bytes.max"), "tuples a second", "queue.bytes.max")


EXPERIMENT = Experiment(
    document="pajjuri",
    id="6.2",
    source="figure 6.2, section 6.3",
    claim="largest memory: segment below simplified segment below path capacity",
    runs=over_rates(RATES, quick=(100, 900)),
    compare=compare,
    picture=picture,
    quick=Size(seeds=1),
    full=Size(seeds=5),
    paragraph="Path capacity needs most memory at all rates. Segment and simplified segment differ only where the "
    "query keeps up with part of what is fed: at high rates both do nothing but the selects until all "
    "tuples have come, and their largest memory is the same to the byte. Which operators the document's "
    "query has, and so where its segments are cut, is not printed.",
    sensitive="The sizes of tuples behind each operator, and how many results the join gives.",
)
