"""Rows that come late, from the future, or after the end of their stream; and a directory of format 1."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.spark.conftest import Open
from tests.spark.engine.workload import PATIENCE
from tests.spark.store import format_1

from headgate.model import HeadgateError
from headgate.spark.session import Handle, Session

COUNTS = "SELECT window.start AS t, count(*) AS n FROM s GROUP BY window(ts, '4 seconds')"
NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)


def declared(session: Session, **settings: float | str) -> tuple[Handle, Handle]:
    session.stream("s", "id bigint, v int, ts timestamp", event_time="ts", watermark="2 s", **settings)  # type: ignore[arg-type]
    return session.query("rows", "SELECT id, v, ts FROM s WHERE v > 0"), session.query("counts", COUNTS)


def append(session: Session, first: int, moments: list[datetime]) -> int:
    return session.append("s", [{"id": first + n, "v": 1, "ts": moment} for n, moment in enumerate(moments)])


def test_one_timestamp_in_the_future_spoils_nothing(opened: Open) -> None:
    session = opened()
    rows, counts = declared(session)
    seconds = [NOON + timedelta(seconds=second) for second in (0, 1, 5, 9)]
    assert append(session, 0, [seconds[0], datetime(2099, 1, 1, tzinfo=UTC), seconds[1]]) == 2
    assert append(session, 3, seconds[2:]) == 2
    assert append(session, 5, [seconds[0]]) == 1  # late: in the stream, not in its window
    session.finish("s")
    assert append(session, 6, [seconds[3]]) == 1
    assert session.drain(PATIENCE)
    assert sorted(rows.read()["id"].to_pylist()) == [0, 2, 3, 4, 5, 6]
    assert sorted(counts.read()["n"].to_pylist()) == [1, 1, 2]
    letters = {
        letter.reason: (letter.offset, letter.row is None) for letter in session.engine.ingest.letters["s"].letters()
    }
    (future,) = (reason for reason in letters if "ahead" in reason)
    assert future.endswith("d ahead of its arrival, the stream allows 1 h")
    assert letters == {future: (None, False), "late by 7 s": (4, True), "late: the stream has ended": (6, True)}
    lines = {line.name: line for line in session.status().queries}
    assert [(lines[name].tuples_in, lines[name].late) for name in ("rows", "counts")] == [(6, 0), (6, 2)]
    assert (session.replay("s").left.total(), session.status().dead_letters) == (2, {"s": 3})


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"ahead": "1"}, r"ahead: has no unit, found 1"),
        ({"ahead": -5}, r"ahead: must not be negative"),
        ({"ahead": "soon"}, r"ahead: it is not a duration, found 'soon'"),
    ],
)
def test_durations_are_checked_where_they_come_in(opened: Open, settings: dict[str, float | str], says: str) -> None:
    with pytest.raises(HeadgateError, match=says):
        declared(opened(), **settings)


def test_a_directory_of_format_1_goes_on(opened: Open, tmp_path: Path) -> None:
    """What waited then is read now, and what was late is in the stream once its letters are replayed."""
    session = opened(directory=format_1.unpacked(tmp_path))
    rows, counts = declared(session)
    assert session.replay("s").taken == len(format_1.LATE)
    log = session.engine.logs["s"]
    times = log.read_window(0, log.end, 0, 1 << 60).select(["ts"])
    session.finish("s")
    assert session.drain(PATIENCE)
    kept = [number for number in (*format_1.IN_TIME, *format_1.LATE) if number % 3]  # v is id % 3
    assert Counter(rows.read()["id"].to_pylist()) == Counter(kept)
    session.spark.createDataFrame(times).createOrReplaceTempView("s")
    wanted = session.spark.sql(COUNTS).toArrow()
    assert Counter(map(tuple, map(dict.values, counts.read().to_pylist()))) == Counter(
        map(tuple, map(dict.values, wanted.to_pylist()))
    )
    assert counts.status.late == len(format_1.LATE)
