"""Draws the pictures of the policy families, each from simulations of a workload in workloads/.

    python docs/pictures.py [NAME]*

The names are those of `PICTURES`; all of them take a few minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from headgate.metrics import MEASURES, Measure, Records, Report, measure
from headgate.metrics.measures.confidence import Band
from headgate.metrics.pictures.curves import Curve, Labels, draw
from headgate.sim import simulate
from headgate.sweep.varied_settings import setting_words, varied
from headgate.workload import Workload, read_workload

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
Picture = tuple[dict[str, Curve], Labels]


def slowdown() -> Picture:
    """Mean slowdown over load on Sharaf's testbed."""
    title = "sharaf.toml: who keeps quick queries quick"
    found = _over("sharaf", ("rr-rb", "srpt", "hr", "hnr", "bsd"), "load", (0.5, 0.7, 0.85, 0.95), 2.0)
    return _of(found, "slowdown.mean"), Labels(title, setting_words("load"), MEASURES["slowdown.mean"])


def memory() -> Picture:
    """Bytes in queues over time while MavStream's query gets bursts, up to the end of the second one."""
    workload = _workload("mavstream-bursts", 350.0)
    policies = ("path-capacity", "segment", "simplified-segment", "rr")
    curves = {policy: _queued(simulate(workload, policy, bin=1.0), 4, 349.0) for policy in policies}
    size = Measure("size of all queues", "bytes")
    return curves, Labels("mavstream-bursts.toml: bursts at 150 and 300 s", "time (s)", size, decades=False)


def aurora() -> Picture:
    """QoS over the rate on Carney's 20 applications."""
    policies = ("rr", "fixed-priority, push=true", "slope-slack, push=true", "bucketing, push=true")
    found = _over("carney-4.2", policies, "rate", (60, 80, 95, 105, 120, 140), 5.0)
    curves: dict[str, Curve] = {
        policy: [(20 * float(rate), band) for rate, band in line] for policy, line in _of(found, QOS).items()
    }
    title = "carney-4.2.toml: 2000 tuples a second fill the core"
    return curves, Labels(title, "rate of all streams together (tuples/s)", MEASURES[QOS])


def classes() -> Picture:
    """Mean response time by class on Al Moakar's five classes."""
    workload = _workload("almoakar-5G_4", 0.4)
    curves: dict[str, Curve] = {}
    for policy in ("mbd, inversion=dsp", "lottery", "mrr", "per-class-thread"):
        report = measure(simulate(workload, policy))
        curves[policy] = [(name, _exact(each.response_time.mean)) for name, each in report.classes.items()]
    title = "almoakar-5G_4.toml: priorities 50, 40, 30, 20, 10"
    return curves, Labels(title, "class, the most important first", MEASURES["response_time.mean"])


def adaptive() -> Picture:
    """Queues and response time of single policies and of a wheel that turns among them, over the best single one's."""
    workload = _workload("raindrop-filters", 60.0)
    single = ("rr", "fifo", "mtiq", "chain")
    reports = {policy: measure(simulate(workload, policy)) for policy in (*single, "adaptive")}
    curves: dict[str, list[tuple[float | str, Band]]] = {policy: [] for policy in reports}
    for path in ("queue.tuples.mean", "response_time.mean"):
        values = {policy: report.value(path) or 0.0 for policy, report in reports.items()}
        best = min(values[policy] for policy in single)
        for policy, value in values.items():
            curves[policy].append((MEASURES[path].words, _exact(value / best)))
    title = "raindrop-filters.toml: rates change every 5 s"
    return dict(curves), Labels(title, "measure", Measure("value over that of the best single policy"))


QOS = "qos.mean"
PICTURES: dict[str, Callable[[], Picture]] = {
    each.__name__: each for each in (slowdown, memory, aurora, classes, adaptive)
}


def _workload(name: str, seconds: float) -> Workload:
    return replace(read_workload(ROOT / "workloads" / f"{name}.toml"), duration=seconds)


def _over(
    name: str, policies: Sequence[str], setting: str, values: Sequence[float], seconds: float
) -> dict[str, list[tuple[float, Report]]]:
    workload = _workload(name, seconds)
    return {
        policy: [(value, measure(simulate(varied(workload, {setting: value}), policy))) for value in values]
        for policy in policies
    }


def _of(found: dict[str, list[tuple[float, Report]]], path: str) -> dict[str, Curve]:
    return {policy: [(value, _exact(report.value(path))) for value, report in line] for policy, line in found.items()}


def _queued(records: Records, every: int, until: float) -> Curve:
    """Bytes up to some time, means over `every` samples: single ones jump with every tuple."""
    times, values = list(records.queue.time), records.queue.bytes
    places = range(0, len(times) - every + 1, every)
    return [(times[at], _exact(sum(values[at : at + every]) / every)) for at in places if times[at] < until]


def _exact(value: float | None) -> Band:
    return Band(value or 0.0, 0.0)


def main() -> None:
    """Draw those that are named, or all."""
    for name in sys.argv[1:] or PICTURES:
        curves, labels = PICTURES[name]()
        draw(curves, FOLDER / f"policies-{name}.png", labels)
        print(f"wrote policies-{name}.png")


if __name__ == "__main__":
    main()
