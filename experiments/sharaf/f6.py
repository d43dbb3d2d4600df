"""Figure 6: mean response time over load."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.sharaf.testbed import FULL, QUICK, runs
from headgate.reproduction import Comparison, Experiment, Measurements, Picture, Ratio

PUBLISHED = {0.7: 1.04, 0.97: 1.07}


def compare(found: Measurements) -> Iterator[Comparison]:
    for load, ratio in PUBLISHED.items():
        at = found.samples("response_time.mean", load)
        yield Ratio(f"HNR over HR at {load}", ratio, at["HNR"] / at["HR"])


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("response_time.mean"), "load", "response_time.mean")


EXPERIMENT = Experiment(
    document="sharaf",
    id="F6",
    source="figure 6, section 9.1.2",
    claim="mean response time: HNR 4 % above HR at load 0.7, 7 % at 0.97",
    runs=runs(("RR", "SRPT", "HR", "HNR")),
    compare=compare,
    picture=picture,
    quick=QUICK,
    full=FULL,
    paragraph="""
        The difference is small, so that a few packets decide on which side it falls; seeds differ.
    """,
    sensitive="""
        that a query keeps the product of its two shares.
    """,
)
