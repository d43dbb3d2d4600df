"""Every entrance of a stream refuses times outside the years 1 to 9999, wherever they are, and takes the other rows."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.test_times import OF_RESULTS, Drawn, array_of, columns, is_leaf, is_outside, leaves, shown
from tests.spark.ingest.builders import bad, waited

from headgate.model import HeadgateError, Stream, times
from headgate.model.times import FIRST_MOMENT, LAST_MOMENT
from headgate.spark.ingest import streams
from headgate.spark.ingest.parsing import files
from headgate.spark.ingest.parsing.arrow_streams import read_stream
from headgate.spark.ingest.parsing.cells import text_cell
from headgate.spark.ingest.parsing.pushed import csv_bytes, json_lines
from headgate.spark.ingest.parsing.records import Read, conform, rows_of, schema_of, to_table, within_years
from headgate.spark.ingest.sources.iterator import IteratorReader
from headgate.spark.ingest.streams import Pushed, StreamIngest
from headgate.spark.store.dead_letters import Letter
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log.stream_log import StreamLog

DATE, TIMESTAMP = pa.date32(), pa.timestamp("us", "UTC")
FLAT = Stream(name="s", schema=(("id", "bigint"), ("day", "date"), ("at", "timestamp")))
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "day": DATE,
        "at": TIMESTAMP,
        "days": pa.list_(DATE),
        "inner": pa.struct([("at", TIMESTAMP), ("days", pa.list_(DATE))]),
        "by_day": pa.map_(DATE, TIMESTAMP),
    }
)
FAR: tuple[tuple[str, Any], ...] = (
    *(("day", 2_932_897), ("day", -719_163), ("day", 30_000_000)),
    *(("at", LAST_MOMENT + 1), ("at", FIRST_MOMENT - 1), ("at", 10**18), ("at", (1 << 63) - 1)),
    *(
        ("days", [0, None, 30_000_000]),
        ("inner", {"at": 10**18, "days": None}),
        ("inner", {"at": None, "days": [-(10**6)]}),
    ),
    *(("by_day", [(30_000_000, None)]), ("by_day", [(0, 0), (1, -(10**18))])),
)  # numbers of days and microseconds
FIRST = {
    "day": -719_162,
    "at": FIRST_MOMENT,
    "days": [-719_162, None],
    "inner": {"at": FIRST_MOMENT, "days": []},
    "by_day": [(-719_162, FIRST_MOMENT)],
}
LAST = {
    "day": 2_932_896,
    "at": LAST_MOMENT,
    "days": [2_932_896],
    "inner": {"at": LAST_MOMENT, "days": [2_932_896]},
    "by_day": [(2_932_896, LAST_MOMENT), (0, None)],
}
Row = Mapping[str, Any]  # with numbers in place of times


@pytest.fixture(scope="module", autouse=True)
def running() -> None:
    """Unlike the other tests of this folder, these need no Spark."""


@contextmanager
def opened(path: Path, now: Callable[[], float] = lambda: 0.0, stream: Stream = FLAT) -> Iterator[StreamIngest]:
    with DataDirectory(path) as directory:
        ingest = StreamIngest(directory, now)
        ingest.add(stream)
        try:
            yield ingest
        finally:
            ingest.close()


def kept_in(ingest: StreamIngest) -> pa.Table:
    """All rows of the stream."""
    log = ingest.logs["s"]
    return log.read(0, log.end)


def rows_with(names: Sequence[str]) -> list[Row]:
    """Rows with these columns: the first and the last times of all, and between them those of other years."""
    far = [(column, value) for column, value in FAR if column in names]
    middle = [{"id": number, column: value} for number, (column, value) in enumerate(far)]
    found = [{"id": 100, **FIRST}, *middle, {"id": 101, **LAST}, {"id": 102}]
    return [{name: row.get(name) for name in names} for row in found]


def arrow(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays(
        [array_of(field.type, [row[field.name] for row in rows]) for field in schema], schema=schema
    )


def texts(rows: Sequence[Row], schema: pa.Schema) -> list[str]:
    """Rows as JSON."""
    return [json.dumps({field.name: shown(field.type, row[field.name]) for field in schema}) for row in rows]


def lines(rows: Sequence[Row], schema: pa.Schema) -> bytes:
    return "\n".join(texts(rows, schema)).encode()


def separated(rows: Sequence[Row], schema: pa.Schema) -> bytes:
    """Rows as CSV with a header."""
    cells = [[shown(field.type, row[field.name]) for field in schema] for row in rows]
    return "\n".join(
        ",".join("" if cell is None else str(cell) for cell in row) for row in [schema.names, *cells]
    ).encode()


def parquet(rows: Sequence[Row], schema: pa.Schema) -> bytes:
    written = io.BytesIO()
    pq.write_table(arrow(rows, schema), written)
    return written.getvalue()


def ipc(rows: Sequence[Row], schema: pa.Schema) -> bytes:
    written = io.BytesIO()
    with pa.ipc.new_stream(written, schema) as writer:
        writer.write_table(arrow(rows, schema))
    return written.getvalue()


def iterated(items: Sequence[Any], schema: pa.Schema, rows: int) -> Read:
    """What a source gives that takes items from an iterator."""
    reader = IteratorReader(items, schema)
    batches = waited(reader, rows)
    reader.close()
    return pa.concat_tables([schema.empty_table(), *(batch.rows for batch in batches)]), bad(batches)


ENTRANCES: dict[str, Callable[[Sequence[Row], pa.Schema], Read]] = {
    "JSON texts": lambda rows, schema: rows_of(texts(rows, schema), schema),
    "mappings": lambda rows, schema: rows_of(map(json.loads, texts(rows, schema)), schema),
    "JSON lines": lambda rows, schema: json_lines(lines(rows, schema), schema),
    "file of JSON lines": lambda rows, schema: files.whole("a.jsonl", lines(rows, schema), schema),
    "file of JSON": lambda rows, schema: files.whole("a.json", f"[{','.join(texts(rows, schema))}]".encode(), schema),
    "iterator of mappings": lambda rows, schema: iterated([*map(json.loads, texts(rows, schema))], schema, len(rows)),
    "iterator of tables": lambda rows, schema: iterated([arrow(rows, schema)], schema, len(rows)),
    "table": lambda rows, schema: (arrow(rows, schema), []),
    "Arrow stream": lambda rows, schema: conform(read_stream(ipc(rows, schema), schema.names), schema),
    "file of Parquet": lambda rows, schema: files.whole("a.parquet", parquet(rows, schema), schema),
}
IN_CSV: dict[str, Callable[[Sequence[Row], pa.Schema], Read]] = {
    "CSV": lambda rows, schema: csv_bytes(separated(rows, schema), FLAT),
    "file of CSV": lambda rows, schema: files.whole("a.csv", separated(rows, schema), schema),
}


@pytest.mark.parametrize("entrance", [*ENTRANCES, *IN_CSV])
def test_every_entrance_refuses_other_years(entrance: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = SCHEMA if entrance in ENTRANCES else schema_of(FLAT)
    monkeypatch.setattr(streams, "arrow_schema", lambda stream: schema)  # Spark alone can read the types of nested ones
    given_rows = rows_with(schema.names)
    rows, refused = {**ENTRANCES, **IN_CSV}[entrance](given_rows, schema)
    with opened(tmp_path) as ingest:
        pushed = ingest.push("s", rows, refused)
        kept = kept_in(ingest).select(schema.names)
        letters = ingest.letters["s"].letters()
    far = given_rows[1:-2]
    assert pushed == Pushed(3, len(far), 0)
    assert kept.equals(arrow([given_rows[0], *given_rows[-2:]], schema))
    reasons = [letter.reason for letter in letters]
    changed = [next(name for name in schema.names[1:] if row[name] is not None) for row in far]
    assert [reason.split("'")[1] for reason in reasons] == changed
    assert all(reason.endswith("is not a time between the years 1 and 9999") for reason in reasons)
    assert [int(str(json.loads(str(letter.text))["id"])) for letter in letters] == [row["id"] for row in far]


@pytest.mark.parametrize("written", ["0000-12-31T23:59:59Z", "0000-01-01", "0001-01-01T00:00:00+01:00"])
def test_arrow_s_own_reader_of_json_lets_no_other_year_in(written: str) -> None:
    """It reads blocks of lines at once, and knows years that Python does not."""
    many = [b'{"id": %d, "at": "2026-01-01T00:00:00Z"}' % number for number in range(300)]
    many[150] = json.dumps({"id": 150, "at": written}).encode()
    rows, refused = json_lines(b"\n".join(many), pa.schema({"id": pa.int64(), "at": TIMESTAMP}))
    assert rows["id"].to_pylist() == [*range(150), *range(151, 300)]
    assert [text for text, _ in refused] == [many[150].decode()]
    assert times.within_years(rows["at"])


@pytest.mark.parametrize("seconds", [253_402_300_800, -62_135_596_801, 1e300, -1e17])
def test_seconds_of_other_years_are_refused(seconds: float) -> None:
    for rows, refused in (to_table([{"at": seconds}], FLAT), to_table([json.dumps({"at": seconds})], FLAT)):
        assert (rows.num_rows, len(refused)) == (0, 1)
        assert refused[0][1].endswith("is not a time between the years 1 and 9999")
    for written in (str(seconds), f"{seconds:.0f}"):
        rows, refused = rows_of([{"at": written}], schema_of(FLAT), text_cell)
        assert (rows.num_rows, len(refused)) == (0, 1)


def test_a_push_that_is_repeated_tells_what_it_told_before(tmp_path: Path) -> None:
    rows = arrow(rows_with(FLAT.columns), schema_of(FLAT))
    with opened(tmp_path) as ingest:
        first = ingest.push("s", rows, [("{", "broken")], "one")
        again = ingest.push("s", rows, [("{", "broken")], "one")
        assert (first.accepted, first.rejected) == (again.accepted, again.rejected) == (3, 8)
        assert (again.repeated, ingest.logs["s"].end, ingest.letters["s"].count()) == (True, 3, 8)
        assert ingest.append("s", rows.slice(0, 2)) == 1


# -- any table -------------------------------------------------------------------------------------------------


def others(drawn: Drawn) -> list[int]:
    """The places of the values with times of other years."""
    found = enumerate(drawn.values)
    return [place for place, value in found if any(is_outside(*leaf) for leaf in leaves(drawn.kind, value))]


@settings(max_examples=150)
@given(data=st.data(), size=st.integers(0, 5))
def test_the_rows_of_other_years_are_exactly_those_that_are_refused(data: st.DataObject, size: int) -> None:
    drawn = {name: data.draw(columns(OF_RESULTS, size), name) for name in "ab"}
    table = pa.table({"id": pa.array(range(size), pa.int64()), **{name: one.column for name, one in drawn.items()}})
    rows, refused = within_years(table, table.schema)
    far = sorted({place for one in drawn.values() for place in others(one)})
    assert rows["id"].to_pylist() == [place for place in range(size) if place not in far]
    assert rows.equals(table.take(pa.array([place for place in range(size) if place not in far], pa.int64())))
    assert [json.loads(text) for text, _ in refused] == [
        {"id": place, **{name: shown(one.kind, one.values[place]) for name, one in drawn.items()}} for place in far
    ]


def in_a_stream(kind: pa.DataType) -> pa.DataType:
    """The type that a stream has for the values of another one."""
    if is_leaf(kind):
        return DATE if pa.types.is_date(kind) else TIMESTAMP if pa.types.is_timestamp(kind) else pa.time64("ns")
    if pa.types.is_dictionary(kind):
        return in_a_stream(kind.value_type)
    if pa.types.is_map(kind):
        return pa.map_(in_a_stream(kind.key_type), in_a_stream(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(in_a_stream(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(in_a_stream(kind.value_type))
    return kind


@settings(max_examples=150)
@given(drawn=columns())
def test_no_other_year_comes_in_whatever_a_table_s_types_are(drawn: Drawn) -> None:
    """Each row is taken or refused; what cannot be cast at all is refused later, by the log."""
    schema = pa.schema({"at": in_a_stream(drawn.kind)})
    table = pa.table({"at": drawn.column})
    for rows, refused in (within_years(table, schema), conform(table, schema)):
        assert rows.num_rows + len(refused) == len(drawn.values)
    try:
        taken = within_years(table, schema)[0].cast(schema)
    except pa.ArrowException:
        return
    assert times.within_years(taken["at"])
    assert taken.num_rows == len(drawn.values) - len(others(drawn))


# -- dead letters ----------------------------------------------------------------------------------------------


def test_letters_of_other_years_stay_until_somebody_corrects_them(tmp_path: Path) -> None:
    far = arrow([{"id": 1, "day": 30_000_000, "at": 0}, {"id": 2, "day": 0, "at": 10**18}], schema_of(FLAT))
    rows: list[Row] = [
        {"id": 3, "at": "+33658-09-27T01:46:40+00:00"},
        {"id": 4, "day": "-0044-03-15"},
        {"id": 5, "at": "+999999999-01-01T00:00:00+00:00"},  # more microseconds than 64 bits hold
        {"id": 6, "day": "2026-01-01", "at": "9999-12-31T23:59:59.999999+00:00"},
    ]
    edited = [Letter("edited", 0.0, row=dict(row)) for row in rows]
    edited += [Letter("edited", 0.0, text=json.dumps({**row, "id": row["id"] + 10})) for row in rows]
    with opened(tmp_path) as ingest:
        ingest.push("s", far)
        ingest.letters["s"].add(edited)
        replayed = ingest.replay("s")
        assert (replayed.taken, replayed.dead_again.total(), replayed.left) == (2, 8, {})
        kept = kept_in(ingest)
        assert kept["id"].to_pylist() == [6, 16]
        assert kept["at"].cast(pa.int64()).to_pylist() == [LAST_MOMENT] * 2
        left = [letter.row or json.loads(str(letter.text)) for letter in ingest.letters["s"].letters()]
        assert [letter["id"] for letter in left] == [1, 2, 3, 4, 5, 13, 14, 15]
        assert left[0] == {"id": 1, "day": "+84107-03-19", "at": "1970-01-01T00:00:00+00:00"}
        assert left[1] == {"id": 2, "day": "1970-01-01", "at": "+33658-09-27T01:46:40+00:00"}


def test_rejected_rows_keep_their_nanoseconds_until_they_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = pa.schema({"at": TIMESTAMP, "clock": pa.time64("ns"), "clocks": pa.list_(pa.time64("ns"))})
    monkeypatch.setattr(streams, "arrow_schema", lambda stream: schema)
    row = {"at": 5_000_000, "clock": 1, "clocks": [86_399_999_999_999, None, 1_000]}
    stream = Stream(name="s", schema=(("at", "timestamp"),), event_time="at", ahead=1.0)
    now = [0.0]
    with opened(tmp_path, lambda: now[0], stream) as ingest:
        assert ingest.push("s", arrow([row], schema)) == Pushed(0, 1, 0)  # five seconds ahead
        (letter,) = ingest.letters["s"].letters()
        assert letter.row == {
            "at": "1970-01-01T00:00:05+00:00",
            "clock": "00:00:00.000000001",
            "clocks": ["23:59:59.999999999", None, "00:00:00.000001"],
        }
        now[0] = 5.0
        assert ingest.replay("s").taken == 1
        assert kept_in(ingest).select(schema.names).equals(arrow([row], schema))


def test_a_row_with_nanoseconds_is_read_beside_a_column_that_is_not_cast_as_a_whole() -> None:
    table = pa.table({"at": pa.array([1_001, 2_000], pa.timestamp("ns", "UTC")), "day": ["2026-01-01", "soon"]})
    rows, refused = conform(table, schema_of(FLAT))
    assert rows["at"].cast(pa.int64()).to_pylist() == [1]  # microseconds
    assert refused == [
        ('{"day":"soon","at":"1970-01-01T00:00:00.000002+00:00"}', "column 'day': 'soon' is not date32[day]")
    ]


def test_parquet_as_spark_writes_it_is_read_in_all_years() -> None:
    written = io.BytesIO()
    moments = [times.microseconds(times.EPOCH.replace(year=year)) for year in (1000, 3000)]
    table = pa.table({"at": pa.array(moments, pa.timestamp("us"))})
    pq.write_table(table, written, use_deprecated_int96_timestamps=True)
    rows, refused = files.whole("a.parquet", written.getvalue(), pa.schema({"at": TIMESTAMP}))
    assert (rows["at"].cast(pa.int64()).to_pylist(), refused) == (moments, [])


@pytest.mark.parametrize(
    "more",
    [
        pa.array([1], pa.duration("ns")),
        pa.array([LAST_MOMENT], pa.timestamp("us", "+09:00")),
        pa.array([1], pa.timestamp("us", "No/Where")),
    ],
    ids=str,
)
def test_what_python_cannot_hold_in_another_column_is_no_matter(more: pa.Array) -> None:
    table = pa.table({"at": pa.array([10**18], TIMESTAMP), "more": more})
    rows, refused = within_years(table, pa.schema({"at": TIMESTAMP}))
    assert (rows.num_rows, [json.loads(text) for text, _ in refused]) == (0, [{"at": times.iso(10**18)}])


def test_a_column_twice_is_left_to_the_log() -> None:
    twice = pa.Table.from_arrays([pa.array([1], pa.date32())] * 2, names=["day", "day"])
    assert within_years(twice, pa.schema({"day": pa.date32()})) == (twice, [])


@given(number=st.integers(FIRST_MOMENT, LAST_MOMENT), unit=st.sampled_from(["us", "D"]))
def test_times_of_numpy(number: int, unit: str) -> None:
    rounded = np.datetime64(number, "us").astype(f"datetime64[{unit}]")
    rows, _ = rows_of([{"at": rounded}], pa.schema({"at": TIMESTAMP}))
    assert rows["at"].cast(pa.int64()).to_pylist() == [int(rounded.astype("datetime64[us]").astype("int64"))]
    noon = np.datetime64("2026-01-01T12:00:00", "ns")
    assert rows_of([{"at": noon}, {"at": np.datetime64("33658-09-27")}], pa.schema({"at": TIMESTAMP}))[0].num_rows == 1


def test_a_sign_before_a_year_that_is_known() -> None:
    for kind in (TIMESTAMP, pa.date32()):
        assert rows_of([{"at": "+2026-01-01"}], pa.schema({"at": kind}))[0].num_rows == 1


def test_times_are_no_texts(tmp_path: Path) -> None:
    stream = Stream(name="s", schema=(("id", "bigint"), ("at", "string")))
    log = StreamLog.open(tmp_path / "s", stream, pa.schema([("id", pa.int64()), ("at", pa.string())]))
    with pytest.raises(HeadgateError, match=r"column 'at' is date32.*, not a text"):
        log.append(pa.table({"id": [1], "at": pa.array([30_000_000], pa.date32())}), 0.0)
    log.close()
