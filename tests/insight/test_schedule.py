"""When queries were scheduled, and how runs were put together then."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.insight.histories import history, run, setting

from headgate.history.records import Record, Setting
from headgate.insight.attribution import inverted_pairs
from headgate.insight.causes import Cause
from headgate.insight.schedule import Schedule
from headgate.insight.why import Explainer

OF = {"fire": "critical", "report": "background"}


def settings(*present: bool) -> list[Setting]:
    """A setting every second, with the query q or without it."""
    return [
        Setting(float(at), 0.0, {"queries": [{"name": name} for name in ("q",) * has + ("other",)]})
        for at, has in enumerate(present)
    ]


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.floats(-1, 7), st.floats(0, 5))
def test_pieces_are_the_stretch_without_the_gaps(present: list[bool], since: float, length: float) -> None:
    schedule, upto = Schedule(settings(*present)), since + length
    pieces = schedule.pieces("q", since, upto)
    assert schedule.has("q") == present[-1]
    assert all(since <= first < last <= upto for first, last in pieces)
    assert all(one[1] <= two[0] for one, two in pairwise(pieces))
    first = present.index(True) if True in present else len(present)
    away = sum(
        max(0.0, min(upto, at + 1.0 if at + 1 < len(present) else upto) - max(since, float(at)))
        for at, has in enumerate(present)
        if not has and at > first
    )
    assert sum(last - first for first, last in pieces) == pytest.approx(length - away, abs=1e-9)


def test_without_settings_everything_is_scheduled() -> None:
    schedule = Schedule([])
    assert schedule.has("q")
    assert schedule.pieces("q", 1.0, 2.0) == [(1.0, 2.0)]


def paused_and_fused_until(moment: float) -> Explainer:
    """`fire` is paused from 1 s to 4 s, and `report` runs meanwhile; until a moment all queries are fused."""
    both, one = setting(OF, fuse="all"), setting({"report": "background"}, fuse="all")
    off = setting(OF, fuse="off")
    records: list[Record] = [
        Setting(1.0, 0.0, one.header),
        Setting(4.0, 0.0, both.header),
        Setting(moment, 0.0, off.header),
        run(1, "report", 0.5, 4.5, answers={"report": (0.5,)}),
        run(2, "fire report", 4.5, 6.5, answers={"fire": (0.0,)}, query_class="critical"),
    ]
    return Explainer(history(OF, records, fuse="all"))


def test_a_query_that_was_paused_waited_for_that() -> None:
    told = paused_and_fused_until(9.0).pick("fire", "worst")
    assert told.sentence == (
        "waited 6.5 s: 3 s while it was paused or being changed, 2 s own run, fused with 1 less important query, "
        "1 s behind background's report (one run, 10 tuples), 500 ms although a worker was free of runs"
    )
    assert (told.cause, told.scheduled) == (Cause.AWAY, True)
    assert sum(told.causes.values()) == pytest.approx(told.moments.total)


@pytest.mark.parametrize(
    ("policy", "late", "words"),
    [
        ("express", "report", "500 ms while the free worker was kept for more important classes"),
        ("express", "fire", "500 ms although a worker was free of runs"),
        ("fcfs", "report", "500 ms although a worker was free of runs"),
        ("./mine.py:Mine", "report", "500 ms although a worker was free of runs"),
    ],
)
def test_a_free_worker_may_have_been_kept_for_more_important_classes(policy: str, late: str, words: str) -> None:
    records: list[Record] = [run(1, late, 0.5, 1.0, answers={late: (0.0,)}, query_class=OF[late])]
    told = Explainer(history(OF, records, policy=policy)).pick(late, "worst")
    assert words in told.sentence


def test_losses_to_pauses_add_up_too() -> None:
    explainer = paused_and_fused_until(9.0)
    (pair,) = inverted_pairs(explainer, 0.0, 9.0)
    assert pair.by_cause[Cause.AWAY] == pytest.approx(pair.difference * 3.0 / 5.5)
    assert sum(share.seconds for share in pair.shares) == pytest.approx(pair.lost) == pytest.approx(2.5)


@pytest.mark.parametrize(("moment", "cause"), [(9.0, Cause.FUSED), (4.25, Cause.SHARED)])
def test_runs_are_told_by_the_fusion_of_their_time(moment: float, cause: Cause) -> None:
    assert paused_and_fused_until(moment).pick("fire", "worst").mixed_by is cause
