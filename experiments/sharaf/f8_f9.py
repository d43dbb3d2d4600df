"""Figures 8 and 9: BSD between HNR and LSF."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.sharaf.testbed import FULL, QUICK, runs
from headgate.reproduction import Comparison, Experiment, Measurements, Order, Picture, Ratio

LOAD = 0.95


def compare(found: Measurements) -> Iterator[Comparison]:
    largest, mean = found.samples("slowdown.max", LOAD), found.samples("slowdown.mean", LOAD)
    yield Order(f"largest slowdown at {LOAD}", ("LSF", "BSD", "HNR"), largest)
    yield Ratio(f"largest, BSD over HNR at {LOAD}", 0.56, largest["BSD"] / largest["HNR"])
    yield Order(f"mean slowdown at {LOAD}", ("HNR", "BSD", "LSF"), mean)
    yield Ratio(f"mean, BSD over LSF at {LOAD}", 0.20, mean["BSD"] / mean["LSF"])


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("slowdown.mean"), "load", "slowdown.mean")


EXPERIMENT = Experiment(
    document="sharaf",
    id="F8-F9",
    source="figures 8 and 9, section 9.1.4",
    claim="at load 0.95 BSD's largest slowdown is 44 % below HNR's, its mean slowdown 80 % below LSF's",
    runs=runs(("HNR", "LSF", "BSD")),
    compare=compare,
    picture=picture,
    quick=QUICK,
    full=FULL,
    paragraph="""
        The trace is not part of this repository, and LSF's mean and HNR's largest slowdown both grow with its bursts.
    """,
    sensitive="how bursty the packets come.",
)
