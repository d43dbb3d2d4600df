"""Figure 5: mean slowdown over load."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.reproduction import Comparison, Experiment, Measurements, Order, Picture, Ratio, Size, grid

POLICIES = {"RR": "rr-rb", "SRPT": "srpt", "HR": "hr", "HNR": "hnr"}
PUBLISHED = {0.7: {"RR": 0.26, "SRPT": 0.49, "HR": 0.82}, 0.97: {"RR": 0.25, "SRPT": 0.47, "HR": 0.80}}


def compare(found: Measurements) -> Iterator[Comparison]:
    for load, ratios in PUBLISHED.items():
        at = found.samples("slowdown.mean", load)
        yield Order(f"mean slowdown at {load}", ("HNR", "HR", "SRPT", "RR"), at)
        for other, ratio in ratios.items():
            yield Ratio(f"HNR over {other} at {load}", ratio, at["HNR"] / at[other])


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("slowdown.mean"), "load", "slowdown.mean")


EXPERIMENT = Experiment(
    document="sharaf",
    id="F5",
    source="figure 5, section 9.1.1",
    claim="mean slowdown: HNR 74 % below RR, 51 % below SRPT, 18 % below HR at load 0.7; 75, 53, 20 % at 0.97",
    runs=grid("sharaf", POLICIES, "load", PUBLISHED),
    compare=compare,
    picture=picture,
    quick=Size(seconds=1.0, seeds=1),
    full=Size(seconds=100.0, seeds=5),
)
