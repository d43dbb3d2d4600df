"""One suite for `headgate.Session` and `headgate.Client`: the same words do the same, unless declared otherwise."""

from __future__ import annotations

import datetime
import inspect
import itertools
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.server.conftest import Serve
from tests.server.differences import BEHAVIOURS, PARAMETERS, WORDS

import headgate
from headgate import ConflictError, HeadgateError
from headgate.client import Client
from headgate.client import Handle as ClientHandle
from headgate.spark.handle import Handle
from headgate.spark.session import Session

DOCS = Path(__file__).parents[2] / "docs" / "client.md"
MINUTE = "1 min"
_numbers = itertools.count(1)


@pytest.fixture(scope="module", params=["session", "client"])
def hg(
    request: pytest.FixtureRequest, spark: SparkSession, serve: Serve, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """A session, and then a client; every test uses names of its own."""
    if request.param == "session":
        with Session(spark=spark, directory=tmp_path_factory.mktemp("session") / "data") as session:
            yield session
    else:
        with Client(f"http://127.0.0.1:{serve().port}") as client:
            yield client


@pytest.fixture(autouse=True)
def _declared(request: pytest.FixtureRequest) -> None:
    """A test that a client is declared to fail must fail, or the declaration is stale."""
    name = request.node.originalname
    if name in BEHAVIOURS and "client" in request.node.name:
        request.applymarker(pytest.mark.xfail(reason=BEHAVIOURS[name], strict=True))


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"n{next(_numbers)}"


class Frame:
    """What speaks Arrow, as the frames of pandas and polars do."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def stream_and_query(hg: Any, name: str, where: str = "v > 1", **settings: Any) -> Any:
    """A stream and a query of the same name."""
    hg.stream(name, "id bigint, v double")
    return hg.query(f"q-{name}", f"SELECT id, v FROM {name} WHERE {where}", **settings)


# -- streams and rows --------------------------------------------------------------------------------------------


def test_a_query_gets_the_rows_that_are_appended(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    assert hg.append(name, [{"id": 1, "v": 2.5}, {"id": 2, "v": 0.5}]) == 2
    assert query.wait(rows=1, timeout=MINUTE).to_pylist() == [{"id": 1, "v": 2.5}]
    assert query.read().schema.names == query.schema.names == ["id", "v"]
    assert query.read().schema == query.schema


def test_rows_may_be_mappings_texts_arrow_and_frames(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name, "v >= 0")
    table = pa.table({"id": [3], "v": [3.0]})
    assert hg.append(name, [{"id": 1, "v": 1}, '{"id": 2,\n "v": 2.0}']) == 2
    assert hg.append(name, table) == 1
    assert hg.append(name, pa.RecordBatch.from_pylist([{"id": 4, "v": 4.0}])) == 1
    assert hg.append(name, Frame(pa.table({"id": [5], "v": [5.0]}))) == 1
    assert hg.append(name, []) == 0
    assert sorted(query.wait(rows=5, timeout=MINUTE)["id"].to_pylist()) == [1, 2, 3, 4, 5]


def test_a_batch_counts_once(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    for _ in range(2):
        pushed = hg.push(name, ['{"id": 1, "v": 2.5}', "{"], batch="monday-1")
        assert (pushed.accepted, pushed.rejected) == (1, 1)
    assert hg.drain(timeout=MINUTE)
    assert query.read().num_rows == 1
    assert hg.status().dead_letters[name] == 1


def test_bad_rows_are_dead_letters(hg: Any, name: str) -> None:
    hg.stream(name, "id bigint, v double")
    assert hg.append(name, [{"id": "x"}, '{"id": 1}', "{"]) == 1
    assert hg.status().dead_letters[name] == 2
    outcome = hg.replay(name)
    assert (outcome.taken, sum(dict(outcome.dead_again).values()), dict(outcome.left)) == (0, 2, {})


def test_a_row_that_is_no_json_is_a_dead_letter_with_its_own_words(hg: Any, name: str) -> None:
    hg.stream(name, "id bigint")
    hg.append(name, [{"id": Decimal("0.5")}])
    assert list(dict(hg.replay(name).dead_again)) == ["column 'id': Decimal('0.5') is not a whole number"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"id": 1}, "append takes rows, found one mapping; put it in a list: [row]"),
        ("rows", "append takes rows, found 'rows'; give a list of mappings"),
        ([3], "append takes rows, found 3 at place 0; give a list"),
    ],
)
def test_what_is_no_rows_is_refused(hg: Any, name: str, rows: Any, told: str) -> None:
    hg.stream(name, "id bigint")
    with pytest.raises(HeadgateError) as refused:
        hg.append(name, rows)
    assert str(refused.value).startswith(told)


def test_every_type_comes_back_as_it_went(hg: Any, name: str) -> None:
    at = datetime.datetime(2026, 1, 1, 12, 0, 0, 250, tzinfo=datetime.UTC)
    row = {
        "i": 7,
        "d": Decimal("12.50"),
        "t": at,
        "day": at.date(),
        "raw": b"\x00\xff",
        "tags": ["a", None],
        "part": {"x": 1, "y": "z"},
        "f": float("inf"),
        "s": "naïve  \U0001f600",
    }
    types = (
        "i int, d decimal(10,2), t timestamp, day date, raw binary, tags array<string>, part struct<x: int, y: string>"
    )
    hg.stream(name, f"{types}, f double, s string")
    query = hg.query(f"q-{name}", f"SELECT * FROM {name}")
    coming = query.results(timeout=MINUTE)
    assert hg.append(name, pa.Table.from_pylist([row])) == 1
    assert query.wait(timeout=MINUTE).to_pylist() == [row]
    batch = next(coming)
    assert (batch.to_pylist(), batch.schema) == ([row], query.schema)


def test_declaring_the_same_again_is_fine_and_something_else_is_a_conflict(hg: Any, name: str) -> None:
    hg.stream(name, "id bigint, v double", event_time=None, watermark="5 s")
    hg.stream(name, [("id", "bigint"), ("v", "double")], watermark=5)
    with pytest.raises(ConflictError, match=f"stream '{name}' exists already"):
        hg.stream(name, "id bigint")
    assert hg.streams[name].columns == ("id", "v")
    assert hg.streams[name].watermark == 5.0


def test_a_finished_stream_closes_its_windows(hg: Any, name: str) -> None:
    hg.stream(name, "v double, ts timestamp", event_time="ts")
    sql = f"SELECT count(*) AS n, max(v) AS peak FROM {name} GROUP BY window(ts, '1 minute')"
    query = hg.query(f"q-{name}", sql)
    hg.append(name, [{"v": 1.5, "ts": "2026-01-01T12:00:01Z"}, {"v": 2.5, "ts": "2026-01-01T12:00:02Z"}])
    hg.finish(name)
    assert query.wait(timeout=MINUTE).to_pylist() == [{"n": 2, "peak": 2.5}]
    assert hg.drain(timeout=MINUTE) is True


def test_a_source_may_be_an_iterable(hg: Any, name: str) -> None:
    hg.stream(name, "id bigint", source=iter([{"id": 1}]))


def test_a_source_is_read(hg: Any, name: str) -> None:
    hg.stream(name, "n int", source="constant, rate=1000, rows=5, n=[1, 6]")
    assert hg.query(f"q-{name}", f"SELECT n FROM {name}", since="start").wait(rows=5, timeout=MINUTE).num_rows == 5


def test_a_stream_can_be_dropped_when_no_query_reads_it(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    with pytest.raises(ConflictError, match=f"q-{name}"):
        hg.drop_stream(name)
    query.stop()
    hg.drop_stream(name)
    assert name not in hg.streams
    hg.stream(name, "other string")


# -- queries -----------------------------------------------------------------------------------------------------


def test_results_come_as_they_are_committed(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    coming = query.results(timeout=MINUTE)
    hg.append(name, [{"id": 1, "v": 2.0}])
    assert next(coming).to_pylist() == [{"id": 1, "v": 2.0}]
    hg.append(name, [{"id": 2, "v": 3.0}])
    assert next(coming).to_pylist() == [{"id": 2, "v": 3.0}]


def test_results_begin_where_they_are_asked_for_and_end_after_the_timeout(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    hg.append(name, [{"id": 1, "v": 2.0}])
    query.wait(timeout=MINUTE)
    assert hg.drain(MINUTE)  # a result can be read a moment before those who follow are told of it
    assert list(query.results(timeout="200 ms")) == []


def test_results_end_with_the_query(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    coming = query.results()
    query.stop()
    assert list(coming) == []


def test_a_query_is_paused_and_goes_on(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    query.pause()
    assert query.status.state == "paused"
    hg.append(name, [{"id": 1, "v": 2.0}])
    with pytest.raises(HeadgateError, match=f"query 'q-{name}' has 0 of 1 rows, and it is paused; read"):
        query.wait(timeout=MINUTE)
    query.resume()
    assert query.wait(timeout=MINUTE).num_rows == 1
    assert query.status.state == "running"


def test_a_query_moves_to_another_class(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    assert query.status.query_class == "default"
    hg.create_class(f"c-{name}", priority=60)
    query.move(f"c-{name}")
    assert (query.status.query_class, query.status.priority) == (f"c-{name}", 60)
    with pytest.raises(HeadgateError, match="unknown class 'nope'"):
        query.move("nope")


def test_a_query_gets_other_sql(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    query.replace(f"SELECT id, v FROM {name} WHERE v < 1")
    hg.append(name, [{"id": 1, "v": 2.0}, {"id": 2, "v": 0.5}])
    assert query.wait(timeout=MINUTE)["id"].to_pylist() == [2]
    with pytest.raises(HeadgateError):
        query.replace(f"SELECT id FROM {name}")


def test_a_stopped_query_is_gone(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    assert f"q-{name}" in hg.queries
    query.stop()
    assert f"q-{name}" not in hg.queries
    with pytest.raises(HeadgateError, match=f"unknown query 'q-{name}'"):
        hg[f"q-{name}"]


def test_a_query_may_read_what_is_there_and_end(hg: Any, name: str) -> None:
    hg.stream(name, "id bigint")
    hg.append(name, [{"id": 1}, {"id": 2}])
    query = hg.query(f"q-{name}", f"SELECT id FROM {name}", once=True)
    assert query.wait(rows=2, timeout=MINUTE).num_rows == 2
    with pytest.raises(HeadgateError, match="has 2 of 3 rows, and it is done"):
        query.wait(rows=3, timeout=MINUTE)


def test_waiting_ends_with_the_timeout(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    with pytest.raises(HeadgateError, match="has 0 of 1 rows, and the timeout is over; wait longer, or for fewer rows"):
        query.wait(timeout="100 ms")


def test_results_as_tables_of_others(
    hg: Any, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = stream_and_query(hg, name)
    hg.append(name, [{"id": 1, "v": 2.5}, {"id": 2, "v": 3.5}])
    query.wait(rows=2, timeout=MINUTE)
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(from_arrow=pa.Table.to_pylist))
    assert [row["v"] for row in query.to_polars()] == [2.5, 3.5]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(HeadgateError, match="pandas is not installed; pip install pandas, or use read"):
        query.to_pandas()
    query.show(rows=1)
    assert capsys.readouterr().out == "id  v\n--  ---\n1   2.5\n1 more rows\n"


def test_a_query_has_a_target_and_a_lag_limit(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name, target="p99 2 s", lag="skip, tuples=100000", qos=None, sink="jsonl")
    assert str(query.status.target.target) == "p99 2 s"
    hg.append(name, [{"id": 1, "v": 2.5}])
    assert query.wait(timeout=MINUTE).num_rows == 1


def test_the_handle_of_a_query_by_its_name(hg: Any, name: str) -> None:
    stream_and_query(hg, name)
    handle = hg[f"q-{name}"]
    assert (handle.name, handle.status.name, handle.schema.names) == (f"q-{name}", f"q-{name}", ["id", "v"])
    assert repr(handle).startswith(f"<query 'q-{name}', class 'default', running, 0 results")


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "given", "told"),
    [
        ("stream", ("a/b", "id int"), "the name of a stream 'a/b' is not a name; use letters"),
        ("stream", ("wrong", "id nonsense"), "column 'id' of 'wrong' has no type 'nonsense'"),
        ("stream", ("wrong", 3), "schema: must be text, found 3"),
        ("query", ("wrong", "SELECT nope FROM nowhere"), "line 1, column 18: unknown stream or table 'nowhere'"),
        ("query", ("wrong", ""), "sql: is empty"),
        ("query", (3, "SELECT 1"), "the name of a query must be text, found int"),
        ("append", ("nowhere", []), "unknown stream 'nowhere'"),
        ("finish", ("nowhere",), "unknown stream 'nowhere'"),
        ("replay", ("nowhere",), "unknown stream 'nowhere'"),
        ("drop_stream", ("nowhere",), "unknown stream 'nowhere'"),
        ("drop_table", ("nowhere",), "unknown table 'nowhere'"),
        ("refresh_table", ("nowhere",), "unknown table 'nowhere'"),
        ("drop_class", ("nowhere",), "unknown class 'nowhere'"),
        ("set_priority", ("nowhere", 3), "unknown class 'nowhere'"),
        ("set_policy", ("nonsense",), "unknown policy 'nonsense'"),
        ("__getitem__", ("nowhere",), "unknown query 'nowhere'"),
        ("create_class", ("wrong", 0), "must be more than 0, found 0"),
    ],
)
def test_what_is_wrong_is_refused_in_the_same_words(hg: Any, word: str, given: tuple[Any, ...], told: str) -> None:
    with pytest.raises(HeadgateError) as refused:
        getattr(hg, word)(*given)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_name_is_used_once(hg: Any, name: str) -> None:
    stream_and_query(hg, name)
    with pytest.raises(ConflictError, match=f"query 'q-{name}' exists already"):
        hg.query(f"q-{name}", f"SELECT v FROM {name}")


# -- classes, tables, policy, status ---------------------------------------------------------------------------------


def test_classes_change_while_queries_run(hg: Any, name: str) -> None:
    hg.create_class(name, priority=5, target="2 s")
    hg.create_class(name, priority=5, target="2 s")
    query = stream_and_query(hg, name, query_class=name)
    hg.set_priority(name, 7)
    assert query.status.priority == 7
    hg.change_class(name, priority=8, target=None)
    assert (query.status.priority, query.status.target) == (8, None)
    with pytest.raises(ConflictError, match=f"q-{name}"):
        hg.drop_class(name)
    query.stop()
    hg.drop_class(name)
    assert name not in [line.name for line in hg.status().classes]


def test_tables_are_joined_refreshed_and_dropped(hg: Any, name: str, tmp_path: Path) -> None:
    file = tmp_path / "halls.jsonl"
    file.write_text('{"id": 1, "hall": "north"}\n')
    hg.table(f"t{name}", file)
    hg.stream(name, "id bigint")
    query = hg.query(f"q-{name}", f"SELECT t.hall FROM {name} s JOIN t{name} t ON s.id = t.id")
    hg.append(name, [{"id": 1}])
    assert query.wait(timeout=MINUTE)["hall"].to_pylist() == ["north"]
    file.write_text('{"id": 1, "hall": "south"}\n')
    hg.refresh_table(f"t{name}")
    hg.append(name, [{"id": 1}])
    assert query.wait(rows=2, timeout=MINUTE)["hall"].to_pylist() == ["north", "south"]
    query.stop()
    hg.drop_table(f"t{name}")


def test_the_status_tells_of_queries_classes_and_streams(hg: Any, name: str) -> None:
    query = stream_and_query(hg, name)
    hg.append(name, [{"id": 1, "v": 2.5}, {"id": 2, "v": 0.5}])
    query.wait(timeout=MINUTE)
    assert hg.drain(timeout=MINUTE)
    line = query.status
    assert (line.tuples_in, line.tuples_out, line.waiting, line.error, line.state) == (2, 1, 0, "", "running")
    assert line.recent.p95 > 0
    status = hg.status()
    assert name in status.dead_letters
    assert f"q-{name}" in [line.name for line in status.queries]
    assert "default" in [line.name for line in status.classes]
    assert status.policy.startswith(("express", "mbd"))


def test_another_policy_decides(hg: Any) -> None:
    hg.set_policy("mbd, inversion=dsp", fuse="class")
    assert hg.status().policy == "mbd, inversion=dsp"


def test_a_policy_of_a_file(hg: Any, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from headgate.policies.baseline.fcfs import FirstComeFirstServed\n\n\n"
        "class Mine(FirstComeFirstServed):\n    '''First come, first served.'''\n"
    )
    hg.set_policy(f"{file}:Mine")
    hg.set_policy("mbd, inversion=dsp")


@pytest.fixture(params=["session", "client"])
def of_directory(
    request: pytest.FixtureRequest, spark: SparkSession, serve: Serve, tmp_path: Path
) -> Iterator[tuple[Any, Path]]:
    """A session or client of its own, and the directory of its engine."""
    place = tmp_path / "data"
    if request.param == "session":
        with Session(spark=spark, directory=place) as session:
            yield session, place
    else:
        with Client(f"http://127.0.0.1:{serve(directory=place).port}") as client:
            yield client, place


def test_closing_ends_the_engine(of_directory: tuple[Any, Path], spark: SparkSession) -> None:
    hg, place = of_directory
    hg.stream("kept", "id bigint")
    hg.close()
    with pytest.raises(HeadgateError, match="is closed"):
        hg.status()
    with Session(spark=spark, directory=place) as after:
        assert list(after.streams) == ["kept"]


# -- the words themselves --------------------------------------------------------------------------------------------


def words(kind: type) -> dict[str, Any]:
    return {word: member for word, member in vars(kind).items() if not word.startswith("_")}


def parameters(member: Any) -> set[str]:
    return set(inspect.signature(member).parameters) if callable(member) else set()


def test_a_client_has_the_words_of_a_session_except_declared_ones() -> None:
    assert words(Session).keys() - words(Client).keys() == WORDS.keys()
    assert words(Handle).keys() - words(ClientHandle).keys() == {"gate"}


def test_words_have_the_same_parameters_except_declared_ones() -> None:
    lacking = {
        f"{word}.{parameter}"
        for ours, theirs in ((Client, Session), (ClientHandle, Handle))
        for word in words(ours).keys() & words(theirs).keys()
        for parameter in parameters(words(theirs)[word]) - parameters(words(ours)[word])
    }
    assert lacking == PARAMETERS.keys()


def test_the_documentation_has_every_difference() -> None:
    text = DOCS.read_text(encoding="utf-8")
    missing = [
        key for table in (WORDS, PARAMETERS) for key, reason in table.items() if f"| `{key}` | {reason} |" not in text
    ]
    assert missing == []
    assert [key for key, reason in BEHAVIOURS.items() if reason not in text] == []


def test_every_declared_behaviour_is_a_test() -> None:
    assert [name for name in BEHAVIOURS if name not in globals()] == []


def test_headgate_offers_the_client() -> None:
    assert headgate.Client is Client
