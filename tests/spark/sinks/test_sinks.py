from __future__ import annotations

import datetime
import decimal
import math
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.model import HeadgateError
from headgate.spark.sinks import files as file_sinks
from headgate.spark.sinks import result_files
from headgate.spark.sinks.files import FAN, FileSink
from headgate.spark.sinks.memory import MemorySink
from headgate.spark.sinks.registry import behind_of, is_file, open_sink, parse_sink
from headgate.spark.sinks.result_files import read

KINDS = pytest.mark.parametrize("kind", ["parquet", "jsonl"])
UTC = datetime.UTC


def table(*values: int) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.int64())})


def values_in(folder: Path) -> list[int]:
    values: list[int] = read(folder)["x"].to_pylist()
    return values


@KINDS
def test_rolling_forward_twice_writes_once(tmp_path: Path, kind: str) -> None:
    for _ in range(2):
        sink = FileSink(tmp_path / "q", kind)
        sink.roll_forward(1, table(1, 2))
        sink.roll_forward(3, table())
        sink.roll_forward_all([(4, table(3)), (5, table(4)), (6, table())])
        sink.roll_forward(4, table(3))
        assert values_in(tmp_path / "q") == [1, 2, 3, 4]


@KINDS
def test_small_files_are_merged_and_nothing_is_lost(tmp_path: Path, kind: str) -> None:
    sink = FileSink(tmp_path, kind)
    chance = random.Random(1)
    for number in range(1, 400):
        sink.roll_forward(number, table(*[number] * (number % 3)))
        if chance.random() < 0.2:
            sink.compact()
        if chance.random() < 0.05:
            sink = FileSink(tmp_path, kind)
    expected = [number for number in range(1, 400) for _ in range(number % 3)]
    assert values_in(tmp_path) == expected
    assert len(list(tmp_path.iterdir())) < 4 * FAN
    for number in range(1, 400):
        sink.roll_forward(number, table(*[number] * (number % 3)))
    assert values_in(tmp_path) == expected


@KINDS
def test_files_written_aside_are_adopted_once(tmp_path: Path, kind: str) -> None:
    sink = FileSink(tmp_path / "q", kind)
    sink.roll_forward(1, table(0))
    files = [tmp_path / f"{number}.parquet" for number in (1, 2)]
    for number, file in enumerate(files, start=1):
        pq.write_table(table(number), file)
    sink.adopt(2, files)
    sink.adopt(2, files)
    FileSink(tmp_path / "q", kind).adopt(2, files)
    assert values_in(tmp_path / "q") == [0, 1, 2]
    with pytest.raises(HeadgateError, match=r"3\.parquet: a committed result is missing"):
        sink.adopt(3, [tmp_path / "3.parquet"])


@KINDS
def test_a_commit_of_several_files_is_merged_as_a_whole_or_not(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_sinks, "TIERS", (16 << 10,))
    sink = FileSink(tmp_path / "q", kind)
    large, small = tmp_path / "large.parquet", tmp_path / "small.parquet"
    pq.write_table(pa.table({"x": [random.Random(2).getrandbits(62) for _ in range(4000)]}), large)
    pq.write_table(table(1), small)
    sink.adopt(1, [large, small])
    for number in range(2, 3 * FAN):
        sink.roll_forward(number, table(number))
    sink.compact()
    assert len(list((tmp_path / "q").iterdir())) < 6
    assert len(values_in(tmp_path / "q")) == 4001 + 3 * FAN - 2


def test_an_earlier_commit_that_is_missing_is_put_in_place(tmp_path: Path) -> None:
    sink = FileSink(tmp_path, "parquet")
    for number in (1, 2, 3):
        sink.roll_forward(number, table(number))
    (tmp_path / "part-000000000001-0000.parquet").unlink()  # its rename was lost in a power cut
    again = FileSink(tmp_path, "parquet")
    again.roll_forward_all([(number, table(number)) for number in (1, 2, 3, 4)])
    assert values_in(tmp_path) == [1, 2, 3, 4]


def test_results_are_read_while_files_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = FileSink(tmp_path, "parquet")
    for number in range(1, FAN + 1):
        sink.roll_forward(number, table(number))
    load = result_files.load

    def merged_meanwhile(path: Path, schema: pa.Schema | None) -> pa.Table:
        sink.compact()
        return load(path, schema)

    monkeypatch.setattr(result_files, "load", merged_meanwhile)
    assert values_in(tmp_path) == list(range(1, FAN + 1))


@KINDS
def test_newer_results_come_while_files_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    sink = FileSink(tmp_path, kind)
    for number in range(1, FAN + 3):
        sink.roll_forward(number, table(number))
    merge = FileSink._merge

    def meanwhile(self: FileSink, chosen: list[result_files.ResultFile]) -> object:
        self.roll_forward(FAN + 3, table(FAN + 3))
        return merge(self, chosen)

    monkeypatch.setattr(FileSink, "_merge", meanwhile)
    sink.compact(FAN)
    assert [(file.first, file.last) for file in sink._files] == [(1, FAN), *((n, n) for n in range(FAN + 1, FAN + 4))]
    assert sink._files == result_files.all_files(tmp_path)
    sink.roll_forward_all([(number, table(number)) for number in range(1, FAN + 4)])
    assert values_in(tmp_path) == list(range(1, FAN + 4))
    sink.close()
    sink.compact()  # nothing: the folder may be another's
    assert len(sink._files) == 4


@KINDS
def test_files_stay_while_somebody_relies_on_them(tmp_path: Path, kind: str) -> None:
    sink = FileSink(tmp_path, kind)
    for number in range(1, FAN + 1):
        sink.roll_forward(number, table(number))
    with result_files.unchanged(tmp_path):
        small = sorted(tmp_path.glob(f"*.{kind}"))
        for _ in range(2):
            sink.compact()
            FileSink(tmp_path, kind)
            assert sorted(tmp_path.glob(f"*.{kind}")) == small
        assert values_in(tmp_path) == list(range(1, FAN + 1))
    sink.compact()
    assert [path.name for path in tmp_path.glob("*-*")] == [f"merged-{1:012}-{FAN:012}.{kind}"]
    assert values_in(tmp_path) == list(range(1, FAN + 1))


def test_files_of_another_kind_are_not_merged(tmp_path: Path) -> None:
    """A query was removed, and another one of its name has another sink."""
    number = 0
    for kind in ("parquet", "jsonl", "parquet"):
        sink = FileSink(tmp_path, kind)
        for _ in range(FAN):
            number += 1
            sink.roll_forward(number, table(number))
            sink.compact()
        assert values_in(tmp_path) == list(range(1, number + 1))
    assert len(list(tmp_path.glob("merged-*"))) == 3


def test_reading_without_rows_or_without_results(tmp_path: Path) -> None:
    FileSink(tmp_path / "q", "parquet").roll_forward(1, table())
    assert read(tmp_path / "q").schema == table().schema
    FileSink(tmp_path / "none", "parquet")
    assert read(tmp_path / "none").num_columns == 0
    with pytest.raises(HeadgateError, match="there are no results"):
        read(tmp_path / "unknown")


@KINDS
def test_every_type_comes_back(tmp_path: Path, kind: str) -> None:
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
    given = pa.table(
        {
            "text": ["a\nb", None],
            "real": [math.inf, 0.1],
            "moment": pa.array([moment, None], pa.timestamp("us", "UTC")),
            "local": pa.array([moment.replace(tzinfo=None), None], pa.timestamp("us")),
            "day": [datetime.date(2026, 1, 2), None],
            "money": pa.array([decimal.Decimal("1.50"), None], pa.decimal128(10, 2)),
            "raw": [b"\x00\xff", None],
            "many": [[1.5, None], None],
            "pair": [{"a": 1, "b": moment.date()}, None],
            "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    FileSink(tmp_path, kind).roll_forward(1, given)
    assert read(tmp_path).equals(given.cast(read(tmp_path).schema))
    assert read(tmp_path).to_pylist() == given.to_pylist()


def test_memory_keeps_the_newest_and_wakes_those_who_wait() -> None:
    ring = open_sink("memory, rows=4", Path("unused"))
    assert isinstance(ring, MemorySink)
    assert ring.tail(3) is None
    assert ring.since(0, timeout=0.001) == []
    for number in range(1, 10):
        ring.roll_forward(number, table(number, number))
    assert [number for number, _ in ring.since(7)] == [8, 9]
    newest = ring.tail(3)
    assert newest is not None
    assert newest["x"].to_pylist() == [8, 9, 9]


def test_a_callback_is_called_at_least_once(tmp_path: Path) -> None:
    seen: list[int] = []

    def call(rows: pa.Table) -> None:
        seen.extend(rows["x"].to_pylist())
        if seen == [1, 2]:
            raise RuntimeError("down")

    sink = open_sink("callback", tmp_path, call)
    sink.roll_forward(1, table(1))
    with pytest.raises(RuntimeError):
        sink.roll_forward(2, table(2))
    again = open_sink("callback", tmp_path, call)
    again.roll_forward_all([(1, table(1)), (2, table(2))])
    assert seen == [1, 2, 2]


def test_console_and_blackhole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    open_sink("console", tmp_path).roll_forward(1, table(1, 2))
    open_sink("blackhole", tmp_path).roll_forward(1, table(1, 2))
    assert capsys.readouterr().out == '{"x":1}\n{"x":2}\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("parket", "unknown sink 'parket'; did you mean 'parquet'"),
        ("memory, row=3", "unknown setting 'row' of 'memory'"),
        ("memory, rows=0", "rows must be a whole number from 1, found 0"),
        ("memory, rows=1.5", "found 1.5"),
        ("parquet, behind=x", "behind: it is not a duration, found 'x'"),
        ("parquet, behind=[1]", "behind: is not a duration, found a list"),
        ("parquet, behind=true", "behind: is not a duration, found true"),
        ("jsonl, behind=-1 ms", "behind: must not be negative, found -0.001"),
        ('jsonl, behind="-1 ms"', "behind: must not be negative"),
        ("jsonl, behind=inf", "behind: must be finite, found inf"),
        ("jsonl, behind=1e999", "behind: must be finite, found inf"),
        ("jsonl, behind=5 parsecs", "unknown unit 'parsecs'"),
        ("memory, behind=1", "unknown setting 'behind' of 'memory'"),
        ("callback", "needs a function"),
        ("table, name=t", "needs a function"),
        ("table", 'a table sink needs the name of a table; write "table, name=db.alerts"'),
        ("table, name=7", "'7' is not a name of a table; letters, digits and _"),
        ("table, name=a b", "'a b' is not a name of a table"),
        ("table, name=x.y.z.w", "'x.y.z.w' is not a name of a table"),
        ("table, name=`t`; DROP", "is not a name of a table"),
        ("table, nam=t", "unknown setting 'nam' of 'table'"),
    ],
)
def test_wrong_sinks_are_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(HeadgateError, match=says):
        open_sink(text, tmp_path)
    assert parse_sink("parquet").name == "parquet"


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
@pytest.mark.parametrize(
    ("given", "seconds"),
    [("", 1.0), (", behind=0", 0.0), (", behind=2", 2.0), (", behind=500ms", 0.5), (', behind="2 min"', 120.0)],
)
def test_how_far_files_may_be_behind(tmp_path: Path, kind: str, given: str, seconds: float) -> None:
    assert behind_of(kind + given) == seconds
    assert is_file(kind + given)
    sink = open_sink(kind + given, tmp_path)
    assert isinstance(sink, FileSink)
    assert sink.kind == kind


@pytest.mark.parametrize("text", ["memory, rows=3", "console", "blackhole", "callback", "table, name=t"])
def test_what_is_not_in_files_is_not_behind(text: str) -> None:
    assert behind_of(text) == 0.0
