"""Targets as `headgate run` shows them."""

from __future__ import annotations

from dataclasses import replace

from tests.spark.cli.status_lines import line, status_of

from headgate.cli.live_display import missed_targets, picture
from headgate.cli.status_table import judged, status_table
from headgate.metrics.measures.inversion import Pair
from headgate.metrics.measures.latency import Latency
from headgate.metrics.measures.targets import TargetState, TargetStatus, TargetSummary
from headgate.model import Target
from headgate.spark.status import Status

LATELY = {"last_10_s": Latency(1), "last_minute": Latency(9, 0.5, 0.5, 0.61, 0.7), "last_10_minutes": Latency()}
MET = TargetStatus(Target(0.5), TargetState.MET, 900.0, 99.9, 0.1, 0.3)
MISSED = TargetStatus(Target(0.5), TargetState.MISSED, 988.0, 45.0, 55.0, 0.812)
FURTHER = TargetStatus(Target(2.0, 99.0), TargetState.MISSED, None, 0.0, 0.0, 20.0)
STUCK = TargetStatus(Target(10.0), TargetState.MISSED, 999.5, reached=11.0, overdue=True)
SILENT = TargetStatus(Target(0.5))


def shown() -> Status:
    queries = [
        line("good", target=MET, latency=LATELY),
        line("bad", target=MISSED, is_late=True),
        line("worse", target=FURTHER, is_late=True),
        line("stuck", target=STUCK, is_late=True),
        line("silent", target=SILENT),
        line("free"),
    ]
    status = status_of(queries)
    classes = (replace(status.classes[0], targets=TargetSummary(1, 2, 0.725, 55.1)), *status.classes[1:])
    return replace(status, classes=classes, now=1000.0)


def cells(width: int = 140) -> dict[str, str]:
    texts = [text.plain for text in status_table(shown(), width)]
    return {text.split()[0]: text for text in texts if text.split()}


def test_columns_say_whether_targets_are_met() -> None:
    rows = cells()
    assert "target" in rows["query"]
    assert "met %" in rows["query"]
    for name, state in {"good": " met ", "bad": " missed ", "silent": " no results "}.items():
        assert state in rows[name]
    assert " 99 " in rows["good"]  # not 100: it was missed once
    assert " 45 " in rows["bad"]
    assert "1 of 3" in rows["critical"]
    assert "0.61" in rows["good"]
    without = [text.plain for text in status_table(status_of([line("free")]), 140)]
    assert "target" not in without[1]


def test_missed_targets_are_told_the_worst_first() -> None:
    assert missed_targets(shown()) == [
        "worse misses its target p99 2 s: 20 s in the last 10 s",
        "bad misses its target p95 500 ms: 812 ms in the last 10 s, since 12 s, met 45 % of the time",
        "stuck misses its target p95 10 s: a tuple has waited for 11 s, since 0 s",
    ]
    assert any("bad misses its target" in text.plain for text in picture(shown(), 3.0, 120, 30))


def test_equal_medians_invert_if_that_is_wanted() -> None:
    status = replace(shown(), inversion=(Pair("critical", "background", 0.0, equal=True),))
    assert judged(status) == "no class inverted"
    assert judged(status, equal_inverts=True) == "inverted: critical after background"
