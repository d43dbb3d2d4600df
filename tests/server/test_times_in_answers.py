"""Times that Python cannot hold, wherever results become text: always the same text, and it is read back."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.conftest import headgate
from tests.model.test_times import LEAVES, OF_RESULTS, Drawn, array_of, columns, shown, values_of

from headgate import display
from headgate.client.following import Event, parse
from headgate.client.handle import _batches
from headgate.server.hosting import EngineHost
from headgate.server.json_rows import json_rows
from headgate.server.results_feed import ResultsFeed
from headgate.server.routes.results import read as answer
from headgate.server.workspace import Workspace
from headgate.server.workspace.names import Names
from headgate.server.workspace.new_rows import NewRows
from headgate.server.workspace.results import Results
from headgate.server.workspace.streams import Streams
from headgate.spark.sinks.files import FileSink
from headgate.spark.sinks.registry import open_sink
from headgate.spark.sinks.result_ranges import read_range
from headgate.spark.store import json_lines
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.json_lines import line

__all__ = ["headgate"]

FAR = pa.table(
    {
        "id": pa.array([1, 2], pa.int64()),
        "day": pa.array([30_000_000, None], pa.date32()),
        "at": pa.array([0, -62_230_000_000_000_000], pa.timestamp("us", "UTC")),
        "by_day": array_of(pa.map_(pa.date32(), pa.timestamp("us")), [[(-719_163, 10**18)], []]),
        "clock": pa.array([1, 43_200 * 10**9], pa.time64("ns")),
    }
)
IN_JSON: list[dict[str, Any]] = [
    {
        "id": 1,
        "day": "+84107-03-19",
        "at": "1970-01-01T00:00:00+00:00",
        "by_day": [["+0000-12-31", "+33658-09-27T01:46:40"]],
        "clock": "00:00:00.000000001",
    },
    {"id": 2, "day": None, "at": "-0002-01-04T08:53:20+00:00", "by_day": [], "clock": "12:00:00"},
]


# -- JSON ------------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(drawn=columns())
def test_rows_are_the_same_text_in_answers_and_in_files(drawn: Drawn) -> None:
    """Together with numbers, which are quick to write, and alone."""
    numbers = pa.array(range(len(drawn.values)), pa.int64())
    for table in (pa.table({"at": drawn.column}), pa.table({"n": numbers, "at": drawn.column})):
        lines = json_lines.to_lines(table).decode().splitlines()
        assert json_rows(table) == lines
        assert [json.loads(text)["at"] for text in lines] == [shown(drawn.kind, value) for value in drawn.values]


@given(data=st.data(), kind=st.sampled_from(LEAVES), size=st.integers(0, 5))
def test_a_column_that_needs_care_changes_no_text_of_the_others(
    data: st.DataObject, kind: pa.DataType, size: int
) -> None:
    """Rows are put together from whole columns unless one of them has lists, say."""
    values = data.draw(st.lists(values_of(kind), min_size=size, max_size=size))
    quick = pa.table({"at": array_of(kind, values), "id": pa.array(range(size), pa.int64())})
    careful = quick.append_column("more", pa.array([[]] * size, pa.list_(pa.int64())))
    assert [f'{row[:-1]},"more":[]}}' for row in json_rows(quick)] == json_rows(careful)


@settings(max_examples=150)
@given(data=st.data(), size=st.integers(0, 4))
def test_json_lines_are_read_back(data: st.DataObject, size: int) -> None:
    drawn = [data.draw(columns(OF_RESULTS, size)) for _ in range(2)]
    table = pa.table({"id": pa.array(range(size), pa.int64()), "a": drawn[0].column, "b": drawn[1].column})
    lines = json_lines.to_lines(table)
    assert json_lines.from_lines(lines.splitlines(), table.schema).equals(table)
    assert json_lines.from_plain([json.loads(row) for row in json_rows(table)], table.schema).equals(table)
    sent = [Event("rows", f'{{"rows":[{",".join(json_rows(table))}]}}')]
    assert pa.Table.from_batches(_batches(sent, table.schema), table.schema).equals(table)


# -- answers ---------------------------------------------------------------------------------------------------


@pytest.fixture(params=["jsonl", "parquet"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A data directory with results of the query `q`."""
    with DataDirectory(tmp_path / "data") as directory:
        sink = FileSink(directory.results / "q", request.param)
    sink.roll_forward_all([(1, FAR.slice(0, 1)), (2, FAR.slice(1))])
    assert sink.read().equals(FAR)
    sink.close()
    return tmp_path / "data"


@pytest.fixture
def results(data: Path) -> Results:
    """The results as a server reads them, without an engine."""
    engine = SimpleNamespace(
        read_range=lambda query, first, limit, schema: read_range(data, query, first, limit, schema),
        position=lambda query: (2, FAR.num_rows),
    )
    host = SimpleNamespace(session=lambda: SimpleNamespace(engine=engine), snapshot=lambda: SimpleNamespace(queries={}))
    return Results(cast(EngineHost, host), Names(), "q")


def test_results_are_answered(results: Results) -> None:
    asked = cast(Workspace, SimpleNamespace(results=lambda name: results))
    ask = partial(answer, "q", asked)
    assert json.loads(bytes(ask(None, 1000, "*/*").body))["rows"] == IN_JSON
    first = json.loads(bytes(ask(None, 1, "*/*").body))
    rest = json.loads(bytes(ask(first["next"], 1000, "*/*").body))
    assert [*first["rows"], *rest["rows"]] == IN_JSON
    arrow = ask(None, 1000, "application/vnd.apache.arrow.stream").body
    assert pa.ipc.open_stream(bytes(arrow)).read_all().equals(FAR)


@pytest.mark.parametrize("in_memory", [True, False])
def test_results_are_sent_as_events_and_read_by_the_client(results: Results, in_memory: bool) -> None:
    new = SimpleNamespace(rows=lambda first, limit: FAR.slice(first, limit) if in_memory else None)
    batch = ResultsFeed(results, _new=cast(NewRows, new))._encoded(0, FAR.num_rows)
    assert batch is not None
    events = [event for event in parse(io.BytesIO(batch.data)) if event is not None]
    assert [json.loads(event.data)["rows"] for event in events] == [IN_JSON]
    assert pa.Table.from_batches(_batches(events, FAR.schema)).equals(FAR)


def test_the_newest_rows_of_a_stream_are_shown() -> None:
    """A stream has times of day in nanoseconds, and no other year."""
    hidden = {"_offset": [7, 8], "_arrival": [1.0, 1.0], "_late": [False, True]}
    rows = pa.table({"clock": FAR["clock"], **hidden})
    log = SimpleNamespace(start=7, end=9, read=lambda first, last: rows)
    engine = SimpleNamespace(streams={"s": None}, logs={"s": log}, ingest=SimpleNamespace(check=lambda name: None))
    host = SimpleNamespace(session=lambda: SimpleNamespace(engine=engine))
    sample = json.loads(Streams(cast(EngineHost, host), Names()).sample("s", 10))
    assert sample["rows"] == [
        {"offset": 7, "arrival": 1.0, "late": False, "row": {"clock": "00:00:00.000000001"}},
        {"offset": 8, "arrival": 1.0, "late": True, "row": {"clock": "12:00:00"}},
    ]


# -- on a terminal and in a notebook ---------------------------------------------------------------------------


def test_the_command_line_prints_them(data: Path, headgate: Any) -> None:
    in_json = headgate("results", data, "q", "--json")
    assert [json.loads(text) for text in in_json.output.splitlines()] == IN_JSON
    in_csv = headgate("results", data, "q", "--csv")
    assert in_csv.output.splitlines() == [
        "id,day,at,by_day,clock",
        '1,+84107-03-19,1970-01-01T00:00:00+00:00,"[[""+0000-12-31"", ""+33658-09-27T01:46:40""]]",00:00:00.000000001',
        "2,,-0002-01-04T08:53:20+00:00,[],12:00:00",
    ]
    as_table = headgate("results", data, "q")
    assert "+84107-03-19" in as_table.output
    assert {in_json.exit_code, in_csv.exit_code, as_table.exit_code} == {0}


def test_the_console_has_the_lines_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    open_sink("console", tmp_path).roll_forward(1, FAR)
    assert capsys.readouterr().out.splitlines() == list(map(line, IN_JSON))


def test_tables_for_people_have_them() -> None:
    headings, rows = display.first_rows(FAR, 1)
    text = display.text_table(headings, rows)
    assert "1   +84107-03-19  1970-01-01 00:00:00+00:00" in text
    assert "<td>+84107-03-19</td>" in display.html_table(headings, rows)
    assert "<td>00:00:00.000000001</td>" in display.html_table(headings, rows)
    assert display.first_rows(FAR.slice(0, 0), 20) == (FAR.column_names, [])
