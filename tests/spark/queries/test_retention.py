"""Logs keep the tuples that queries need; if some are missing all the same, a query is suspended and gives nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.spark.conftest import Open
from tests.spark.engine.workload import (
    BASE,
    CASES,
    PATIENCE,
    Row,
    Taken,
    declare,
    expected,
    results_of,
    small_logs,
    start,
    table,
)

from headgate.spark.session import Session

__all__ = ["small_logs"]
TUMBLED = "TUMBLE({0}, ts, INTERVAL 60 SECONDS)"
EQUAL = f"FROM {TUMBLED.format('a')} x JOIN {TUMBLED.format('b')} y ON x.window_start = y.window_start AND x.id = y.id"
NEAR = "FROM a x JOIN b y ON x.id = y.id AND y.ts BETWEEN x.ts - INTERVAL 60 SECONDS AND x.ts + INTERVAL 60 SECONDS"
NEEDING = {
    "windows": f"SELECT x.v, y.w {EQUAL}",
    "near": f"SELECT x.v, y.w {NEAR}",
    "near too": f"SELECT y.w, x.v {NEAR} WHERE x.v >= 0",
    "counts": "SELECT window.start AS t, count(*) AS n FROM a GROUP BY window(ts, '60 seconds')",
    "counts too": "SELECT window.start AS t, sum(v) AS n FROM a GROUP BY window(ts, '60 seconds')",
    "over a join": f"SELECT window.start AS t, count(*) AS n {NEAR} GROUP BY window(y.ts, '60 seconds')",
}
COPY = "SELECT id, v FROM a WHERE v >= 0"


def at(seconds: float, *values: object) -> Row:
    return (1, *values, BASE + round(seconds * 1_000_000))


def give(session: Session, stream: str, rows: Sequence[Row]) -> None:
    session.append(stream, table(stream, rows))
    assert session.drain(PATIENCE)


@pytest.mark.parametrize(
    ("policy", "fuse"), [("random", "off"), ("random", "all"), ("random, level=operator", "off"), ("segment", "off")]
)
def test_a_run_that_misses_tuples_suspends_its_query(opened: Open, policy: str, fuse: str) -> None:
    """As if retention had been wrong: the log is dropped under open windows."""
    session = opened(policy=policy, fuse=fuse, workers=1)
    declare(session, ("a", "b"))
    handles = {name: session.query(name, sql) for name, sql in NEEDING.items()}
    copy = session.query("copy", COPY)
    give(session, "a", [at(0, 1, "s"), at(1, 2, "s")])
    inner = list(session.engine.fragment_logs.open.values())
    logs = (session.engine.logs["a"], *inner)
    for log in logs:
        log.seal()
    give(session, "a", [at(1, 2, "s")])
    for log in logs:
        log.drop_before(log.end)
    give(session, "b", [at(2, 3)])
    give(session, "a", [at(100, 5, "s")])
    give(session, "b", [at(100, 5)])
    for name, handle in handles.items():
        assert handle.status.state == "suspended", name
        assert "dropped" in handle.status.error or "its log holds" in handle.status.error, handle.status.error
        assert not results_of(handle), name
    assert (copy.status.state, copy.read().num_rows) == ("running", 4)


@pytest.mark.usefixtures("small_logs")
def test_a_query_that_goes_on_later_finds_what_it_has_not_read(opened: Open) -> None:
    """After a restart it is paused as before; meanwhile nothing is dropped that it may need."""
    case, other = CASES["join of windows"], CASES["filter"]
    taken = Taken()
    session = opened()
    declare(session, ("a", "b"))
    start(session, [case, other])
    taken.append(session, "a", table("a", [at(0, 1, "s")]))
    assert session.drain(PATIENCE)
    session[case.name].pause()
    session.close()
    session = opened()
    declare(session, ("a", "b"))
    handle = session[case.name]
    for seconds in range(1, 9):
        taken.append(session, "a", table("a", [at(seconds, 3, "s")]))
        assert session.drain(PATIENCE)
    assert session.engine.logs["a"].start == 0
    handle.resume()
    taken.append(session, "b", table("b", [at(1, 5)]))
    assert session.drain(PATIENCE)
    assert results_of(handle) == expected(session, case, taken)
    assert results_of(handle)


@pytest.mark.usefixtures("small_logs")
def test_what_no_query_needs_is_dropped(opened: Open) -> None:
    session = opened()
    declare(session, ("a", "b"))
    cases = [CASES[name] for name in ("join of windows", "aggregate over a join", "sliding")]
    handles, taken = start(session, cases), Taken()
    for seconds in range(0, 48, 4):
        for stream, value in (("a", (seconds % 4, "s")), ("b", (seconds,))):
            taken.append(session, stream, table(stream, [at(seconds, *value)]))
        assert session.drain(PATIENCE)
    assert min(log.start for log in session.engine.logs.values()) > 3
    for case in cases:
        assert results_of(handles[case.name]), case.name
    for stream in ("a", "b"):
        session.finish(stream)
    assert session.drain(PATIENCE)
    for case in cases:
        assert results_of(handles[case.name]) == expected(session, case, taken), case.name
