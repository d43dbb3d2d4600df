"""Bytes that were pushed become the rows that they would become one by one, and bytes that lie harm nobody."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate.model import HeadgateError, Stream
from headgate.spark.ingest.parsing import pushed
from headgate.spark.ingest.parsing.arrow_streams import read_stream
from headgate.spark.ingest.parsing.pushed import (
    arrow_stream_bytes,
    csv_bytes,
    json_lines,
    json_lines_bytes,
    json_lines_one_by_one,
)

SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("h", pa.int16()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("t", pa.timestamp("us", "UTC")),
    ]
)
TIMES = (
    *("2026-01-01T00:00:00Z", "2026-01-01", "2026-01-01 10:00", "2026-01-01T10:00:00.123456+02:00", "20260101"),
    *("2026-01-01T10:00:00.1234567", "2026-W01-1", "0000-01-01T00:00:00", "0001-01-01T00:00:00+01:00", "noon", ""),
    *("9999-12-31T23:59:59-01:00", "2026-02-30", "2026-01-01T24:00:00", "2026-01-01T10:00:00+24:00", "2026-01-01T10"),
)
RAW = (
    *("1", "3.0", "3.5", "1e3", "-0", "01", '"3"', "99999999999999999999", "9223372036854775807", "9007199254740993"),
    *("NaN", "Infinity", "-Infinity", "Inf", "-Inf", '"NaN"', '"Information"', "1e999", "1.7976931348623159e308"),
    *("null", "true", "false", "tru", '"a\\u00e9\\n"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', "[1]", "[[[]]]"),
    *('{"x": 1}', '"{"', '"}"', '"["', '"é"', "0.1", "16777217", "1e-50", "3.4028235677973366e38", "32768", "1.5"),
    *("-", "+1", ".5", "1.", '"tab\there"', "nul", "Infinit", "2", "1e39"),
)
raw = st.one_of(st.sampled_from(RAW), st.sampled_from(TIMES).map(json.dumps), st.floats().map(json.dumps))
raw = st.one_of(raw, st.integers().map(str), st.text(max_size=4).map(json.dumps))
keys = st.sampled_from([*SCHEMA.names, "other", "\\u0069"])
objects = st.lists(st.tuples(keys, raw), max_size=4).map(
    lambda pairs: "{" + ", ".join(f'"{key}": {value}' for key, value in pairs) + "}"
)
good = st.fixed_dictionaries({"i": st.integers(-9, 9), "s": st.text(max_size=3)}).map(json.dumps)
texts = st.one_of(
    good,
    good,
    good,
    objects,
    objects,
    st.tuples(objects, objects).map("".join),
    st.tuples(objects, objects).map("\n,".join),
    objects.map(lambda text: text.replace(":", ":\n", 1)),
    st.sampled_from(["", "  ", "[1]", "{", "}", "{}", "nothing", "1", '{"x": {}', ',"i": 1}', "{" * 80 + "}" * 80]),
    objects.map(lambda text: text[:-1]),
)
lines = st.lists(texts.map(lambda text: text.encode("utf-8", "surrogatepass")), max_size=6)


def compared(data: bytes) -> None:
    """Both ways give the same rows, bit for bit, and the same dead letters."""
    blank_left_out = [line for line in map(bytes.strip, data.removeprefix(b"\xef\xbb\xbf").split(b"\n")) if line]
    rows, bad = json_lines(data, SCHEMA)
    slow_rows, slow_bad = json_lines_one_by_one(blank_left_out, SCHEMA)
    assert rows.schema == slow_rows.schema
    assert repr(rows.to_pylist()) == repr(slow_rows.to_pylist())
    assert bad == slow_bad


@settings(max_examples=400, deadline=None)
@given(lines=lines, ending=st.sampled_from([b"\n", b"\r\n", b"\n\n"]), bom=st.booleans(), junk=st.booleans())
@example(lines=[b'{"i": 1}{"i": 2}', b'{"i":', b"3}"], ending=b"\n", bom=False, junk=False)
@example(lines=[b'{"other": Inf, "i": 1}'], ending=b"\n", bom=True, junk=False)
@example(lines=[b'{"other": "\xff", "i": 1}', b'{"s": "\xff"}'], ending=b"\n", bom=False, junk=True)
def test_the_quick_way_gives_what_the_slow_way_gives(lines: list[bytes], ending: bytes, bom: bool, junk: bool) -> None:
    compared(b"\xef\xbb\xbf" * bom + ending.join(lines) + (ending + b'{"s": "\xfe"}') * junk)


@settings(max_examples=100, deadline=None)
@given(value=raw, key=keys)
def test_one_value_among_good_lines_is_read_alike(value: str, key: str) -> None:
    compared(b'{"i": 1}\n' * 3 + f'{{"{key}": {value}, "h": 2}}\n'.encode("utf-8", "surrogatepass") + b'{"i": 2}')


def test_good_lines_are_read_at_once_and_a_bad_one_slows_down_only_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counting(lines: Any, schema: pa.Schema) -> Any:
        read.append(len(lines))
        return json_lines_one_by_one(lines, schema)

    monkeypatch.setattr(pushed, "json_lines_one_by_one", counting)
    many = [b'{"i": %d, "s": "x", "t": "2026-01-01T00:00:00Z"}' % number for number in range(20_000)]
    rows, bad = json_lines(b"\n".join(many), SCHEMA)
    assert (rows.num_rows, bad, read) == (20_000, [], [])
    many[9_999] = b'{"i": "x"}'
    rows, bad = json_lines(b"\n".join(many), SCHEMA)
    assert (rows.num_rows, len(bad), read) == (19_999, 1, [128])
    assert rows["i"].to_pylist() == [number for number in range(20_000) if number != 9_999]


def test_depth_does_not_end_the_process() -> None:
    deep = b'{"i": 1, "other": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}"
    rows, bad = json_lines(b'{"i": 1}\n' + deep, SCHEMA)
    assert (rows.num_rows, len(bad)) == (1, 1)


STREAM = Stream(name="s", schema=(("id", "bigint"), ("name", "string")))


def test_csv_is_read_as_a_file_would_be() -> None:
    rows, bad = csv_bytes(b'\xef\xbb\xbfid,name,more\r\n1,a,x\r\n2,"b\nc",\r\nx,d,y\r\n3,e\r\n', STREAM)
    assert rows.to_pylist() == [{"id": 1, "name": "a"}, {"id": 2, "name": "b\nc"}]
    assert [reason for _, reason in bad] == ["column 'id': 'x' is not a whole number", pushed.FIELDS]
    assert json_lines_bytes(b'{"id": 1}\n', STREAM)[0].to_pylist() == [{"id": 1, "name": None}]
    assert csv_bytes(b"", STREAM)[0].num_rows == 0
    with pytest.raises(HeadgateError, match="the CSV cannot be read"):
        csv_bytes(b"id,name\n1," + b"a" * 200_000, STREAM)


# -- Arrow streams ---------------------------------------------------------------------------------------------


def stream_of(table: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def test_arrow_streams_are_conformed() -> None:
    table = pa.table({"name": pa.array(["a", "b", None]).dictionary_encode(), "more": [1, 2, 3], "id": [1.0, 2.5, 3.0]})
    rows, bad = arrow_stream_bytes(stream_of(table), STREAM)
    assert rows.to_pylist() == [{"id": 1, "name": "a"}, {"id": 3, "name": None}]
    assert [reason for _, reason in bad] == ["column 'id': 2.5 is not a whole number"]
    rows, bad = arrow_stream_bytes(stream_of(pa.table({"other": [1, 2]})), STREAM)
    assert (rows.num_rows, len(bad)) == (0, 2)
    assert arrow_stream_bytes(stream_of(table.slice(0, 0)), STREAM)[0].num_rows == 0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nothing of the kind",
        stream_of(pa.table({"id": [1]}), compression="zstd"),
        stream_of(
            pa.table({"name": pa.array(["x" * 10_000]).take(pa.array([0])).dictionary_encode()}), compression="lz4"
        ),
        stream_of(pa.table({"id": pa.nulls(20_000_000)})),
        stream_of(pa.table({"id": pa.ListArray.from_arrays([0, 20_000_000], pa.nulls(20_000_000))})),
        stream_of(
            pa.table({"name": pa.DictionaryArray.from_arrays(pa.array([0] * 9_000_000, pa.int8()), ["x" * 1000])})
        ),
        stream_of(pa.table({"id": pa.array([1, 1, 2])}))[:-60],
    ],
    ids=["nothing", "text", "compressed", "compressed dictionary", "nulls", "list", "dictionary", "cut"],
)
def test_an_arrow_stream_that_is_broken_or_enormous_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(HeadgateError, match="the Arrow stream cannot be read") as refused:
        read_stream(data, ("id", "name"))
    assert "\n" not in str(refused.value)


MUTATIONS = """
import random, sys
import pyarrow as pa
from headgate.model import HeadgateError
from headgate.spark.ingest.parsing.arrow_streams import read_stream
from headgate.spark.ingest.parsing.records import conform
schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("tags", pa.list_(pa.string()))])
table = pa.table({"id": [1, 2, None], "name": ["a", None, "ccc"], "tags": [["x"], [], None]}, schema=schema)
sources = []
for each in (table, table.set_column(1, "name", table["name"].combine_chunks().dictionary_encode())):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, each.schema) as writer:
        writer.write_table(each)
    sources.append(bytes(sink.getvalue()))
chance, refused = random.Random(int(sys.argv[1])), 0
for _ in range(int(sys.argv[2])):
    data = bytearray(chance.choice(sources))
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(data))
        match chance.randrange(4):
            case 0: data[place] ^= 1 << chance.randrange(8)
            case 1: data[place] = chance.choice((0, 1, 127, 128, 255))
            case 2: data[place : place + 8] = chance.choice((b"\\xff" * 8, b"\\x00" * 8, b"\\xff" * 7 + b"\\x7f"))
            case _: del data[place : place + chance.randint(1, 9)]
        if not data:
            break
    try:
        conform(read_stream(bytes(data), schema.names), schema)
    except HeadgateError:
        refused += 1
print(refused)
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_mutated_arrow_streams_never_end_the_process(seed: int) -> None:
    command = [sys.executable, "-c", MUTATIONS, str(seed), "4000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 1000
