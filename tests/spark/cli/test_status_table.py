"""The table of `headgate run`: its order, its columns, and that its numbers add up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spark.cli.status_lines import line, status_of

from headgate.cli.live_display import one_line, picture
from headgate.cli.status_table import COLUMNS, status_table
from headgate.metrics.measures.qos import Quality
from headgate.spark.status import StatusLine
from headgate.spark.store.disk_watch import DiskStatus

MANY = [line(f"query-number-{n}", ("critical", "background")[n % 2]) for n in range(40)]


def names(texts: list[str]) -> list[str]:
    return [text.split()[0] for text in texts]


def table(queries: list[StatusLine], width: int = 120, height: int | None = None, rejected: int = 0) -> list[str]:
    return [text.plain for text in status_table(status_of(queries, rejected), width, height)]


def test_the_most_urgent_come_first() -> None:
    queries = [
        line("idle", "background", oldest_wait=0.0),
        line("calm", oldest_wait=1.9),
        line("stopped-by-hand", state="paused", oldest_wait=0.0),
        line("waits", "background", oldest_wait=3.0),
        line("waits-longer", "background", oldest_wait=9.0),
        line("sink-is-full", state="waiting", oldest_wait=0.0),
        line("late", "background", is_late=True),
        line("failed", "background", state="suspended", error="no"),
    ]
    behind = names(table(queries))[7:]
    assert behind == ["failed", "late", "waits-longer", "waits", "sink-is-full", "calm", "stopped-by-hand", "idle"]


def test_rows_keep_their_places_while_waiting_times_differ_a_little() -> None:
    first = [line("a", oldest_wait=2.1), line("b", oldest_wait=3.9)]
    second = [line("a", oldest_wait=3.9), line("b", oldest_wait=2.1)]
    assert names(table(first))[7:] == names(table(second))[7:] == ["a", "b"]


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (60, "query prio state in/s waiting wait s p95 s dead"),
        (80, "query prio state in/s waiting wait s p50 s p95 s p95 s dead"),
        (120, "query class prio state in/s waiting wait s p50 s p95 s 1 min 10 min p95 s results dead"),
    ],
)
def test_columns_are_those_that_fit(width: int, headings: str) -> None:
    texts = table(MANY, width, 24)
    assert max(map(len, texts)) <= width
    assert " ".join(texts[1].split()) == headings
    assert texts[-1] == "… and 24 more: 24 running"
    row = next(text for text in texts if text.startswith("query-number-0"))
    assert "1,234" in row
    assert "0.75" in row


def test_every_width_and_height_is_kept() -> None:
    shown = status_of([line("suspended-query", state="suspended", error="x" * 300), *MANY], 5)
    for width in range(20, 160, 7):
        for height in range(1, 60, 4):
            lines = picture(shown, 3.0, width, height)
            assert len(lines) <= height
    for height in (24, 50):
        assert any("suspended-query" in text.plain for text in picture(shown, 3.0, 60, height))


def test_names_that_begin_alike_stay_different() -> None:
    texts = table([line(f"temperature-of-the-boiler-number-{n}") for n in range(10, 20)], 60)
    assert len({text[:16] for text in texts[7:]}) == 10


def test_dead_letters_of_streams_and_queries_add_up() -> None:
    queries = [line("a", dead_letters=7), line("b", "background", dead_letters=12), line("c", dead_letters=0)]
    texts = table(queries, rejected=570)
    dead = {text.split()[0]: int(text.split()[-1]) for text in texts if text[0].isalpha() and "query" not in text}
    assert dead == {"all": 589, "critical": 7, "background": 12, "streams": 570, "a": 7, "b": 12, "c": 0}
    assert not any(text.startswith("streams") for text in table(queries))


def test_queries_are_counted_once_each_by_what_is_shown_of_them() -> None:
    queries = [line("a", is_late=True), line("b", state="suspended"), line("c"), line("d", state="paused")]
    head = picture(status_of(queries), 12.3, 100, 24)[:2]
    assert [text.plain for text in head] == [
        "12 s under mbd, inversion=dsp, 7 runs, 7 Spark jobs",
        "4 queries: 1 suspended, 1 late, 1 running, 1 paused",
    ]
    assert one_line(status_of(queries, 5), 12.3).startswith("12 s: 4 queries: 1 suspended, 1 late,")
    assert one_line(status_of(queries, 5), 12.3).endswith("17 dead letters")


def test_what_is_stalled_and_a_full_disk_come_first() -> None:
    queries = [line("fine"), line("late", is_late=True), line("stuck", stalled=75.4, is_late=True)]
    status = replace(status_of(queries), disk=DiskStatus(0, True, "/data/log: cannot write: No space left on device"))
    lines = [text.plain for text in picture(status, 12.3, 140, 24)]
    assert lines[1] == "3 queries: 1 stalled, 1 late, 1 running"
    assert "the disk is full: /data/log: cannot write: No space left on device" in lines
    assert "stuck is stalled: nothing was committed for 75 s though tuples wait" in lines
    names = [text.split()[0] for text in lines if text.split()[:1] and text.split()[0] in ("fine", "late", "stuck")]
    assert names[0] == "stuck"
    assert repr(status).endswith("stalled: stuck>")


def test_missed_deadlines_have_a_column_if_some_query_has_a_graph() -> None:
    assert "missed" not in table([line("a")])[1]
    assert "missed" in table([line("a", quality=Quality(mean=0.5, per_tuple=0.5, missed=4)), line("b")])[1]


def test_no_two_columns_give_way_at_once_but_the_essential_ones() -> None:
    ranks = [column.rank for column in COLUMNS if column.rank]
    assert len(ranks) == len(set(ranks))
