"""Many queries in one call: all of them run, or none if one is refused; a directory comes back with all of them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from tests.spark.conftest import Open
from tests.spark.engine.workload import PATIENCE

from headgate.core import replay_trace
from headgate.model import HeadgateError, Query
from headgate.spark.engine.engine import Engine
from headgate.spark.engine.new_queries import NewQuery
from headgate.spark.session import Session

MANY = 200
ROWS = [
    {"id": number, "temp": float(number % 60), "ts": f"2026-01-01T12:00:{number % 60:02}Z"} for number in range(120)
]
FORMS = (
    "SELECT id FROM s WHERE temp > {}",
    "SELECT id, temp * {} AS x FROM s WHERE id < 40",
    "SELECT count(*) AS n FROM s WHERE id > {} GROUP BY window(ts, '20 seconds')",
    "SELECT s.id FROM s JOIN u ON s.id = u.id AND u.ts BETWEEN s.ts - INTERVAL 1 SECOND AND s.ts WHERE s.temp > {}",
)


def wanted(count: int = MANY) -> list[dict[str, str]]:
    return [{"name": f"q{n}", "sql": FORMS[n % len(FORMS)].format(n % 50 + 1)} for n in range(count)]


def declare(session: Session) -> None:
    for stream in "su":
        session.stream(stream, "id bigint, temp double, ts timestamp", event_time="ts")


def give(session: Session) -> None:
    for stream in "su":
        session.append(stream, ROWS)
        session.finish(stream)
    assert session.drain(5 * PATIENCE)


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def states(session: Session) -> set[str]:
    return {line.state for line in session.status().queries}


def test_all_run_and_give_what_they_give_one_by_one(opened: Open) -> None:
    lines: list[str] = []
    session = opened(record=lines.append, fuse="all")
    declare(session)
    handles = session.add_queries(wanted())
    assert list(handles) == [each["name"] for each in wanted()]
    assert states(session) == {"running"}
    alone = {each["name"]: session.query(f"{each['name']}-alone", each["sql"]) for each in wanted(12)}
    give(session)
    for name, handle in alone.items():
        assert rows(handles[name].read()) == rows(handle.read()), name
    assert sum(handle.read().num_rows > 0 for handle in handles.values()) > MANY / 2
    session.close()
    assert replay_trace(lines).differences == []


def test_one_bad_one_keeps_all_from_starting(opened: Open) -> None:
    session = opened()
    declare(session)
    bad = {"name": "bad", "sql": "SELECT id FROM s WHERE ts > 'now'"}
    with pytest.raises(HeadgateError) as alone:
        session.query("bad", bad["sql"])
    with pytest.raises(HeadgateError) as together:
        session.add_queries([*wanted(20), bad, *wanted(40)[20:]])
    assert str(together.value) == f"query 'bad': {alone.value}"
    assert session.queries == {}
    assert session.engine.commits.state.queries == {}
    session.add_queries(wanted(40))
    assert states(session) == {"running"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "p", "sql": "SELECT nothing FROM s"}, "query 'p': line 1, column 8: unknown column 'nothing'"),
        ({"name": "p", "sql": "SELECT id FROM s", "query_class": "gold"}, "query 'p': unknown class 'gold'"),
        ({"name": "p", "sql": "SELECT id FROM s", "once": 1}, "query 'p': once: must be true or false, found 1"),
        ({"name": "p"}, "query 'p': a query has no sql; add it"),
        ({"name": "p", "sql": "SELECT id FROM s", "clas": "x"}, "unknown argument of a query 'clas'"),
        ("SELECT id FROM s", "a query must be a mapping of arguments, found 'SELECT id FROM s'"),
    ],
)
def test_what_is_wrong_is_said_with_the_query(opened: Open, given: object, says: str) -> None:
    session = opened()
    declare(session)
    with pytest.raises(HeadgateError) as error:
        session.add_queries([*wanted(2), given])  # type: ignore[list-item]
    assert str(error.value).startswith(says)
    assert session.queries == {}


def test_a_directory_comes_back_with_all(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened()
    declare(session)
    session.create_class("x", 3.0)
    model = Query(name="model", query_class="x", plan=session.plan("SELECT id FROM s"), sql="SELECT id FROM s")
    before = session.engine.commits.number
    session.add_queries([*wanted(40), model])
    assert session.engine.commits.number - before <= 2  # the usual class, and all queries
    session.close()
    sent: list[int] = []
    restore = Engine.restore_queries

    def counted(engine: Engine, new: Sequence[NewQuery]) -> None:
        sent.append(len(new))
        restore(engine, new)

    monkeypatch.setattr(Engine, "restore_queries", counted)
    session = opened()
    assert sent == [41]
    assert states(session) == {"running"}
    give(session)
    assert session["model"].read().num_rows == len(ROWS)
    assert sorted(session.queries) == sorted([*(each["name"] for each in wanted(40)), "model"])


def test_functions_get_the_results(opened: Open) -> None:
    session = opened()
    declare(session)
    got: list[pa.Table] = []
    session.add_queries([*wanted(2), {"name": "told", "sql": "SELECT id FROM s", "callback": got.append}])
    give(session)
    assert sum(table.num_rows for table in got) == len(ROWS)
