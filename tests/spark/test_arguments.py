"""Wrong values for every public argument: each is refused with an explanation, and the session is unchanged."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.spark.engine.workload import PATIENCE

import headgate
from headgate.model import HeadgateError, Query, QueryClass, Stream
from headgate.spark.session import Session

COPY = "SELECT id FROM s"
TEXTS: tuple[Any, ...] = (None, 3, 2.5, True, b"x", [], {}, object(), "", "  ", "no\nsuch thing", "no  such thing")
NAMES: tuple[Any, ...] = (
    *TEXTS,
    *("a  b", "a/b", "a#1", "-a", ".", "a\nb", "a\x00", "q" * 101, "ü" * 40, "😀", "probe'", " probe", "a,b"),
)
TIMES: tuple[Any, ...] = (
    *(math.nan, -1, -0.5, -math.inf, "-1 s", "2", "2 parsecs", "soon", "", True, [], {}, b"1", object(), "nan"),
)
NUMBERS: tuple[Any, ...] = (0, -3, math.nan, math.inf, -math.inf, "50", None, True, [], 10**400, object())
TARGETS: tuple[Any, ...] = (
    *(math.nan, -1, 0, math.inf, True, [], {}, b"1", object(), "", "soon", "2", "0 s", "-1 s", "p0 1 s", "p101 1 s"),
    *(0.02, "20 ms", "p50 30 ms ± 20 %"),  # less than a Spark job takes
)
ROWS: tuple[Any, ...] = (
    *(None, 3, True, "text", b"bytes", {"id": 1}, object(), [1, 2], [None], [{"id": 1}, 7], [[{"id": 1}]], ["x", ()]),
    *(
        pa.table({"other": [1]}),
        pa.table({"id": ["x"]}),
        pa.table({"id": pa.array([2**63], pa.uint64())}),
        pa.schema([("id", pa.int64())]),
        Path(),
    ),
)
FOLDER = object()  # stands for a folder with files of two kinds
PLAIN = object()  # stands for a file that is no table

Call = Callable[[Session, Any], object]
ENTRANCES: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "stream name": (lambda hg, bad: hg.stream(bad, "id int"), (*NAMES, "s", "S", "t", "T")),
    "stream schema": (
        lambda hg, bad: hg.stream("new", bad),
        (
            *TEXTS,
            "id",
            "id nothing",
            "id bigint, id int",
            "id int, ID int",
            [("id", "int"), ("Id", "int")],
            "id bigint,",
            "_id int",
            [("id",)],
            [("id", 3)],
            ["id"],
            "a <",
        ),
    ),
    "stream event_time": (lambda hg, bad: hg.stream("new", "id bigint", event_time=bad), (*TEXTS[1:], "id", "x")),
    "stream watermark": (lambda hg, bad: hg.stream("new", "id bigint", watermark=bad), (*TIMES, math.inf, None)),
    "stream source": (
        lambda hg, bad: hg.stream("new", "id bigint", source=bad),
        (
            *(bad for bad in TEXTS[1:] if bad != []),
            "poisson",
            "poisson, rate=x",
            "poisson, rate=" + "9" * 5000,
            "directory, path=/no/such",
            "a, [[",
        ),
    ),
    "table name": (lambda hg, bad: hg.table(bad, hg.spark.range(1)), (*NAMES, "s", "S", "t", "T")),
    "table source": (
        lambda hg, bad: hg.table("new", bad),
        (*TEXTS, "/no/such.csv", "/no/such", "nothing://x/y.csv", FOLDER, PLAIN, Path("/no/such")),
    ),
    "table frame": (
        lambda hg, bad: hg.table("new", bad(hg.spark)),
        (
            lambda spark: spark.readStream.format("rate").load(),
            lambda spark: spark.range(3).selectExpr("1 / (id - 1) AS x"),
            lambda spark: spark,
        ),
    ),
    "class name": (lambda hg, bad: hg.create_class(bad, 1), NAMES),
    "class priority": (lambda hg, bad: hg.create_class("new", bad), NUMBERS),
    "class lag": (lambda hg, bad: hg.create_class("new", 1, lag=bad), (*TEXTS[1:], "skip", "skip, tuples=0")),
    "class target": (lambda hg, bad: hg.create_class("new", 1, target=bad), TARGETS),
    "class again": (lambda hg, bad: hg.create_class("low", bad), (2, 0.5)),
    "query name": (lambda hg, bad: hg.query(bad, "SELECT id + 1 AS id FROM s"), (*NAMES, "probe")),
    "query sql": (
        lambda hg, bad: hg.query("new", bad),
        (*TEXTS, "SELECT", "SELECT id FROM nowhere", "SELECT nothing FROM s", "DROP TABLE s", "SELECT 'x"),
    ),
    "query class": (lambda hg, bad: hg.query("new", COPY, query_class=bad), TEXTS[1:]),
    "query sink": (
        lambda hg, bad: hg.query("new", COPY, sink=bad),
        (*TEXTS, "memory, rows=0", "memory, rows=" + "9" * 5000, "table", "callback", "parquet, x=1"),
    ),
    "query qos": (
        lambda hg, bad: hg.query("new", COPY, qos=bad),
        (
            3,
            "x",
            [],
            [1],
            [[1]],
            [[1, 2]],
            [[0, math.nan]],
            [["0", "1"]],
            [[1, 1], [0, 1]],
            {0: 1},
            object(),
            [[-1, 0]],
        ),
    ),
    "query since": (lambda hg, bad: hg.query("new", COPY, since=bad), (*TEXTS, "yesterday")),
    "warm timeout": (lambda hg, bad: hg.warm(bad), TIMES),
    "warm progress": (lambda hg, bad: hg.warm(0, bad), (3, "print", [])),
    "query once": (lambda hg, bad: hg.query("new", COPY, once=bad), (1, "true", None, [])),
    "query start": (lambda hg, bad: hg.query("new", COPY, start=bad), (*TIMES, math.inf, None)),
    "query end": (lambda hg, bad: hg.query("new", COPY, end=bad), (*TIMES, 0, None)),
    "query life": (
        lambda hg, bad: hg.query("new", COPY, start=bad[0], end=bad[1]),
        (("2 s", "1 s"), (1, 1), (1, "1 s")),
    ),
    "query lag": (lambda hg, bad: hg.query("new", COPY, lag=bad), (*TEXTS[1:], "wait, tuples=x")),
    "query target": (lambda hg, bad: hg.query("new", COPY, target=bad), TARGETS),
    "query target and qos": (lambda hg, bad: hg.query("new", COPY, target="1 s", qos=bad), ([[0, 1], [2, 1], [3, 0]],)),
    "query callback": (lambda hg, bad: hg.query("new", COPY, callback=bad), (3, "print", [])),
    "get": (lambda hg, bad: hg[bad], TEXTS),
    "append stream": (lambda hg, bad: hg.append(bad, [{"id": 1}]), (*TEXTS, "S", "t")),
    "append rows": (lambda hg, bad: hg.append("s", bad), ROWS),
    "append timeout": (lambda hg, bad: hg.append("s", [{"id": 1}], timeout=bad), TIMES),
    "replay stream": (lambda hg, bad: hg.replay(bad), TEXTS),
    "replay reason": (lambda hg, bad: hg.replay("s", bad), (None, 3, b"x", [])),
    "finish": (lambda hg, bad: hg.finish(bad), TEXTS),
    "drain": (lambda hg, bad: hg.drain(bad), TIMES),
    "set_policy": (
        lambda hg, bad: hg.set_policy(bad),
        (*TEXTS, "hnr, x=1", "hnr, train=-1", "hnr, train=" + "9" * 5000),
    ),
    "set_policy fuse": (lambda hg, bad: hg.set_policy("fcfs", bad), TEXTS[1:]),
    "change_class": (lambda hg, bad: hg.change_class(bad, priority=1), TEXTS),
    "drop_class": (lambda hg, bad: hg.drop_class(bad), TEXTS),
    "drop_stream": (lambda hg, bad: hg.drop_stream(bad), TEXTS),
    "drop_table": (lambda hg, bad: hg.drop_table(bad), TEXTS),
    "refresh_table": (lambda hg, bad: hg.refresh_table(bad), TEXTS),
    "set_priority class": (lambda hg, bad: hg.set_priority(bad, 1), TEXTS),
    "set_priority": (lambda hg, bad: hg.set_priority("low", bad), NUMBERS),
    "results timeout": (lambda hg, bad: hg["probe"].results(bad), TIMES),
    "results buffer": (lambda hg, bad: hg["probe"].results(buffer=bad), (0, -1, "1", 1.5, True, None)),
    "move": (lambda hg, bad: hg["probe"].move(bad), TEXTS),
    "replace": (lambda hg, bad: hg["probe"].replace(bad), (*TEXTS, "SELECT id AS x FROM s", "SELECT x FROM s")),
    "model stream": (lambda hg, bad: hg.add_stream(bad), (Stream(name="a/b"), Stream(name="S"))),
    "model class": (
        lambda hg, bad: hg.engine.add_class(bad),
        (QueryClass("new", -1.0), QueryClass("a/b"), QueryClass("")),
    ),
    "model query": (
        lambda hg, bad: hg.add_query(Query(**{"name": "new", "query_class": "low", "plan": hg.plan(COPY), **bad})),
        ({"name": "a#1"}, {"start": math.nan}, {"end": -1.0}, {"since": "x"}, {"query_class": "x"}, {"lag": "x"}),
    ),
}
SESSIONS: dict[str, tuple[Any, ...]] = {
    "spark": (3, "local", object(), SparkSession),
    "master": (None, 3, "", "nonsense", "local[0]", "local[x]", "http://x", "spark://"),
    "directory": (3, "", "  ", [], object(), "a\x00b", PLAIN, FOLDER),
    "policy": tuple(text for text in TEXTS if text is not None),
    "workers": (0, -1, "2", 101, 1000, 1.5, True, None),
    "fuse": (*(text for text in TEXTS if text is not None), "CLASS"),
    "seed": (-1, 1.5, "1", True),
    "held": (0, 1, "yes", None),
    "warm": (*(time for time in TIMES if time is not True), math.inf),
    "record": (3, "print"),
}


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(spark=spark, directory=tmp_path_factory.mktemp("entrances"), policy="fcfs") as session:
        session.stream("s", "id bigint")
        session.table("t", spark.range(3))
        session.create_class("low", 1)
        session.query("probe", COPY)
        session.query("twice", "SELECT id * 2 AS id FROM s", query_class="low")
        yield session


def state(session: Session) -> Any:
    """All that a refused call could have changed."""
    status, engine = session.status(), session.engine
    queries = [(line.name, line.query_class, line.state, line.error) for line in status.queries]
    classes = dict(engine.overview().classes)
    ends = {name: (log.end, log.finished_at) for name, log in engine.logs.items()}
    folders = sorted(path.name for path in (session.directory / "streams").iterdir())
    return status.policy, queries, classes, ends, folders, sorted(engine.tables), session.sources.thread.ended


def replaced(bad: Any, tmp_path: Path) -> Any:
    if bad is FOLDER:
        for name in ("a.csv", "b.json"):
            (tmp_path / name).write_text("{}")
        return str(tmp_path)
    if bad is PLAIN:
        (tmp_path / "plain").write_text("no table")
        return str(tmp_path / "plain")
    return bad


PROBES = count(1)


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_what_is_wrong_is_refused_in_words_and_changes_nothing(
    session: Session, entrance: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    call, hostile = ENTRANCES[entrance]
    before = state(session)
    for bad in hostile:
        with pytest.raises(HeadgateError) as caught:
            call(session, replaced(bad, tmp_path))
        assert len(str(caught.value).splitlines()) == 1, bad
        assert state(session) == before, bad
    assert capfd.readouterr() == ("", "")
    assert session.append("s", [{"id": next(PROBES)}]) == 1
    assert session.drain(PATIENCE)
    for name, factor in (("probe", 1), ("twice", 2)):
        length = session.engine.logs["s"].end
        assert session[name].status.state == "running"
        assert session[name].read().num_rows == length, name
        assert max(session[name].read()["id"].to_pylist()) % factor == 0


@pytest.mark.parametrize("setting", SESSIONS)
def test_a_session_that_cannot_be_leaves_nothing_behind(
    spark: SparkSession, setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    threads = threading.active_count()
    for bad in SESSIONS[setting]:
        given = {} if setting in ("spark", "master") else {"spark": spark}
        with pytest.raises(HeadgateError) as caught:
            Session(**{**given, setting: replaced(bad, tmp_path)})
        assert len(str(caught.value).splitlines()) == 1, bad
    assert threading.active_count() == threads
    assert list((tmp_path / "temporary").iterdir()) == []
    assert spark.range(3).count() == 3


def test_durations_are_seconds_or_text(session: Session) -> None:
    session.stream("delayed", "id bigint, ts timestamp", event_time="ts", watermark="500 ms")
    assert session.engine.streams["delayed"].watermark == 0.5
    handle = session.query("later", COPY, start="1 h", end="2 h")
    assert handle.status.state == "scheduled"
    assert (handle._view.query.start, handle._view.query.end) == (3600.0, 7200.0)
    handle.stop()
    never = session.query("never", COPY, start=1e300)  # further away than a clock can wait
    assert never.status.state == "scheduled"
    never.stop()
    assert session.drain("60 s")
    assert session.drain(math.inf)
    assert session.drain(1e300)


def test_the_same_class_again_is_the_same_class(session: Session) -> None:
    session.create_class("low", 1.0)
    with pytest.raises(
        HeadgateError, match="'low' exists already with lag none, declared now with lag 'skip, tuples=10'; change it"
    ):
        session.create_class("low", 1.0, lag="skip, tuples=10")


def test_a_message_is_that_of_the_workload_file(session: Session) -> None:
    with pytest.raises(HeadgateError, match=r"^class 'c', priority: must be more than 0, found 0; correct priority$"):
        session.create_class("c", 0)
    with pytest.raises(HeadgateError, match=r"^the name of a query 'a/b' is not a name; use letters, digits, '_', '-'"):
        session.query("a/b", COPY)


def test_names_that_sql_has_to_quote_can_be_used(session: Session) -> None:
    for name in ("x.y", "x y", "x-y", "1x", "Höhe", "select", "n" * 100):
        session.stream(name, "id bigint")
        query = session.query(name, f"SELECT a.id FROM `{name}` AS a")
        other = session.query(f"{name[:90]}-u", f"SELECT id FROM `{name.upper()}`", sink="jsonl")
        assert session.append(name, [{"id": 1}]) == 1
        assert session.append(name, [{"id": "bad"}]) == 0
        assert session.drain(PATIENCE)
        assert (query.read().to_pylist(), other.read().to_pylist()) == ([{"id": 1}], [{"id": 1}])
        assert session.replay(name).dead_again.total() == 1


class Foreign:
    """A frame of another library, as Arrow sees it."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def test_rows_come_as_mappings_texts_tables_and_frames(session: Session) -> None:
    table = pa.table({"other": ["x"], "id": pa.array([7], pa.int32())})
    end = session.engine.logs["s"].end
    for rows in (
        *(
            [{"id": 7}],
            [{"id": 7, "other": 1}],
            ['{"id": 7}'],
            ({"id": 7} for _ in range(1)),
            [{"other": 1}, {"id": 7}],
        ),
        *(table, table.to_batches()[0], Foreign(table)),
    ):
        assert session.append("s", rows) == 1
    assert session.engine.logs["s"].read(end, end + 8)["id"].to_pylist() == [7] * 8
    assert session.append("s", []) == 0


def test_a_folder_is_read_as_what_it_holds(session: Session, tmp_path: Path) -> None:
    for kind, files in {
        "csv": {"a.csv": "room,floor\nr1,1\n", "b.csv": "room,floor\nr2,2\n", "_SUCCESS": "", ".x.json": ""},
        "json": {"deep/a.json": '{"room": "r1", "floor": "1"}\n', "deep/b.jsonl": '{"room": "r2", "floor": "2"}\n'},
    }.items():
        folder = tmp_path / kind
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        place = folder / "deep" if kind == "json" else folder
        session.table(kind, place)
        rows = session.engine.tables[kind].select("room", "floor").collect()
        assert sorted(map(tuple, rows)) == [("r1", "1"), ("r2", "2")]


def test_the_error_is_exported() -> None:
    assert headgate.HeadgateError is HeadgateError
    assert "HeadgateError" in headgate.__all__
