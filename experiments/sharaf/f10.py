"""Figure 10: the ℓ2 norm of slowdowns over load."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.sharaf.testbed import FULL, QUICK, runs
from headgate.reproduction import Comparison, Experiment, Measurements, Order, Picture, Ratio

PUBLISHED = {"LSF": 0.43, "HNR": 0.76}


def compare(found: Measurements) -> Iterator[Comparison]:
    curves = {name: found.curve("slowdown.l2", name) for name in ("HNR", "LSF", "BSD")}
    for load in curves["BSD"]:
        yield Order(f"ℓ2 at {load}", ("BSD", ("HNR", "LSF")), {name: curve[load] for name, curve in curves.items()})
    for other, ratio in PUBLISHED.items():
        ratios = [curves["BSD"][load] / curves[other][load] for load in curves["BSD"]]
        yield Ratio(f"BSD over {other}, the lowest of all loads", ratio, min(ratios, key=lambda each: each.mean))


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("slowdown.l2"), "load", "slowdown.l2")


EXPERIMENT = Experiment(
    document="sharaf",
    id="F10",
    source="figure 10, section 9.1.5",
    claim="ℓ2 norm of slowdowns: BSD up to 57 % below LSF and up to 24 % below HNR",
    runs=runs(("HNR", "LSF", "BSD")),
    compare=compare,
    picture=picture,
    quick=QUICK,
    full=FULL,
    paragraph="""
        The norm weighs the longest burst most, so seeds differ.
    """,
    sensitive="how bursty the packets come, and how many there are.",
)
