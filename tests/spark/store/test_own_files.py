"""Files that Headgate writes for itself are no source, and results no table, whatever path leads to them."""

from __future__ import annotations

import glob
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from headgate.model import HeadgateError, Stream, Table
from headgate.spark.engine.table_files import TableFiles
from headgate.spark.ingest.listing import Files
from headgate.spark.ingest.sources import open_source
from headgate.spark.sinks.files import FileSink
from headgate.spark.store.directory import FOLDERS, DataDirectory
from headgate.spark.store.own_files import (
    OWN_FOLDERS,
    check_source_folder,
    check_table_files,
    check_table_path,
    is_data_directory,
    is_result,
    own_folder,
)

PLAIN = Stream(name="p", schema=(("id", "bigint"),))
ROW = '{"id": 1}\n'
RESULT, MERGED = "part-000000000017-0000.jsonl", "merged-000000000001-000000000016.jsonl"
OF_SPARK = "part-00000-3f0b6ac6-4c5e-4d5a-9b5e-0f3c1f2a7d11-c000.snappy.parquet"
RESULTS, BELONGS = "has results of a query, which Headgate merges", "belongs to a data directory of Headgate"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with results of a query, and other files that could be read as rows."""
    with DataDirectory(tmp_path / "data") as directory:
        results = directory.result("q")
    results.mkdir()
    (results / "schema.arrow").touch()
    for path in (
        results / RESULT,
        results / MERGED,
        directory.letters("s"),
        directory.stream("s") / "stream.json",
        directory.path / "costs.json",
        directory.path / "checkpoints" / "s" / "offsets.json",
        directory.path / "access" / "tokens.json",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ROW)
    return tmp_path / "data"


def check_table(path: str) -> None:
    """What declaring a table refuses, of a path and of the files that Spark finds there."""
    check_table_path(path)
    found = [Path(name) for name in glob.glob(path, recursive=True)]
    files = [file for name in found for file in (name.rglob("*") if name.is_dir() else [name]) if file.is_file()]
    check_table_files(file.as_uri() if file.is_absolute() else str(file) for file in files)


def check_source(path: Path, pattern: str = "*") -> None:
    """What opening a source and looking for its files refuses."""
    check_source_folder(path)
    Files(path, pattern).listed()


def refusal(path: Path, pattern: str = "*") -> str:
    with pytest.raises(HeadgateError) as raised:
        check_source(path, pattern)
    return str(raised.value)


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_all_names_that_a_sink_gives_are_those_of_results(tmp_path: Path, kind: str) -> None:
    sink = FileSink(tmp_path, kind)
    seen = set()
    for number in (*range(1, 40), 10**12, 10**13):
        sink.roll_forward(number, pa.table({"id": [number]}))
        sink.compact()
        seen |= {path.name for path in tmp_path.iterdir()}
    with_rows = {name for name in seen if name.endswith((kind, ".new"))}
    assert {name.partition("-")[0] for name in with_rows} == {"part", "merged"}
    assert {name for name in seen if is_result(name)} == with_rows


@pytest.mark.parametrize(
    "name",
    [
        RESULT,
        MERGED,
        "part-000000000017-0000.parquet",
        "part-1234567890123-12345.parquet",
        "merged-000000000001-000000000016.parquet.new",
    ],
)
def test_names_of_results(name: str) -> None:
    assert is_result(name)


@pytest.mark.parametrize(
    "name",
    [
        OF_SPARK,
        "part-00000.parquet",
        "part-1-0.parquet",
        "part-000000000017.parquet",
        "part-000000000017-0000.csv",
        "part-000000000017-0000.jsonl.gz",
        "part-000000000017-0000.parquet.crc",
        "my-part-000000000017-0000.parquet",
        "merged-1-16.parquet",
        "merged.jsonl",
        "part-",
        "",
        f"{RESULT}\n",
    ],
)
def test_names_of_other_files(tmp_path: Path, name: str) -> None:
    assert not is_result(name)
    if name.strip():
        (tmp_path / name).write_text(ROW)
        assert list(Files(tmp_path, "*").listed().files) == [name]
        check_table(str(tmp_path))
        check_table(str(tmp_path / name))


def test_a_data_directory_is_known_by_what_is_in_it(data: Path, tmp_path: Path) -> None:
    assert is_data_directory({path.name for path in data.iterdir()})
    assert not is_data_directory({"headgate.json"})
    assert not is_data_directory({"commits", "results"})
    mine = tmp_path / "mine"
    (tmp_path / "half" / "results").mkdir(parents=True)
    shutil.copy(data / "headgate.json", tmp_path / "half")
    assert own_folder(tmp_path / "half" / "results") is None
    for name in FOLDERS:
        assert own_folder(data / name / "deep" / "deeper") == data / name
        (mine / name / "deep").mkdir(parents=True)
        (mine / name / "deep" / "rows.jsonl").write_text(ROW)
        check_source(mine / name, "**/*")
    (mine / "costs.json").write_text(ROW)
    check_source(mine)
    assert len(Files(tmp_path, "mine/**/*").listed().files) == len(FOLDERS) + 1


@pytest.mark.parametrize("name", sorted(OWN_FOLDERS))
def test_each_folder_of_a_data_directory_is_refused(data: Path, name: str) -> None:
    (data / name / "deep").mkdir(parents=True, exist_ok=True)
    (data.parent / "link").symlink_to(data / name)
    (data.parent / "second").symlink_to("link")
    says = RESULTS if name == "results" else BELONGS
    for path in (data / name, data / name / "deep", data.parent / "link", data.parent / "second" / "deep"):
        assert says in refusal(path)
    assert says in refusal(data / name / "deep" / ".." / ".." / "commits" / ".." / name)


def test_a_folder_of_a_data_directory_is_refused_before_there_are_files(data: Path) -> None:
    for file in (data / "results" / "q").iterdir():
        file.unlink()
    assert RESULTS in refusal(data / "results" / "q")
    assert RESULTS in refusal(data / "results" / "not_yet")


def test_a_data_directory_that_is_moved_or_linked_is_known(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data.parent / "short").symlink_to("data")
    assert RESULTS in refusal(data.parent / "short" / "results" / "q")
    data.rename(data.parent / "moved")
    assert RESULTS in refusal(data.parent / "moved" / "results" / "q")
    monkeypatch.chdir(data.parent / "moved" / "results")
    assert RESULTS in refusal(Path("q"))
    assert RESULTS in refusal(Path())


@pytest.mark.parametrize(
    ("path", "pattern", "says"),
    [
        ("data", "results/*/*.jsonl", RESULTS),
        ("data", "*/q/part-*", RESULTS),
        ("data", "**/part-*.jsonl", RESULTS),
        ("data", "**/merged-*", RESULTS),
        ("data", "*.json", BELONGS),
        ("data", "costs.json", BELONGS),
        ("data", "**/*.json", BELONGS),
        ("data", "deadletters/*", BELONGS),
        ("data", "streams/*/*.json", BELONGS),
        ("data", "access/*", BELONGS),
        ("", "data/results/q/*", RESULTS),
        ("", "**/q/*", RESULTS),
        ("", "*/*.json", BELONGS),
        ("", "**/s.jsonl", BELONGS),
        ("", "data/checkpoints/**/*.json", BELONGS),
        ("", "**/*", "Headgate"),
    ],
)
def test_a_pattern_from_above_is_refused(data: Path, path: str, pattern: str, says: str) -> None:
    assert says in refusal(data.parent / path, pattern)


def test_the_refusal_names_the_folder_and_what_to_do_instead(data: Path) -> None:
    for text in (refusal(data / "results" / "q"), refusal(data.parent, "data/results/q/*")):
        assert text.startswith(f"'{data}/results/q' has results of a query")
        assert text.endswith("headgate results DIR QUERY --csv > FILE")
    assert refusal(data.parent, "*/deadletters/*").startswith(f"'{data}/deadletters' belongs to a data directory")


def test_what_a_pattern_does_not_match_is_not_refused(data: Path) -> None:
    (data.parent / "rows.csv").write_text("id\n1\n")
    for pattern in ("*", "*.csv", "**/*.csv"):
        assert list(Files(data.parent, pattern).listed().files) == ["rows.csv"]
    for pattern in ("*/*.csv", "data/*.csv", "data/*/rows.*"):
        assert list(Files(data.parent, pattern).listed().files) == []


def test_files_of_ones_own_beside_those_of_headgate_are_read(data: Path) -> None:
    (data / "mine").mkdir()
    (data / "mine" / "rows.jsonl").write_text(ROW)
    check_source(data / "mine")
    assert list(Files(data, "mine/*").listed().files) == ["mine/rows.jsonl"]
    assert list(Files(data.parent, "data/mine/*").listed().files) == ["data/mine/rows.jsonl"]


@pytest.mark.parametrize("name", [RESULT, MERGED])
def test_a_copy_of_results_is_refused_as_a_source(data: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "copy" / "deep").mkdir(parents=True)
    shutil.copy(data / "results" / "q" / name, tmp_path / "copy" / "deep")
    for path, pattern in (("copy/deep", "*"), ("copy", "*/*"), ("copy", "**/*.jsonl"), ("copy/deep", name)):
        assert RESULTS in refusal(tmp_path / path, pattern)
    (tmp_path / "copy" / "deep" / "other.jsonl").write_text(ROW)
    assert list(Files(tmp_path / "copy", "**/other.*").listed().files) == ["deep/other.jsonl"]


def test_links_to_results_are_refused_as_a_source(data: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "answers").symlink_to(data / "results" / "q")
    (tmp_path / "work" / RESULT).symlink_to(data / "results" / "q" / RESULT)
    (tmp_path / "direct").symlink_to(data / "results" / "q")
    for path, pattern in (("work", "*/*.jsonl"), ("work", "answers/*"), ("work", "*.jsonl"), ("direct", "*")):
        assert RESULTS in refusal(tmp_path / path, pattern)
    with pytest.raises(HeadgateError, match=RESULTS):
        Files(tmp_path / "work", "*.jsonl", tmp_path).listed()


def test_a_link_to_a_data_directory_in_a_pattern_is_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "link").symlink_to(data)
    for pattern in ("*/*/*.jsonl", "link/deadletters/*", "*/costs.json"):
        assert BELONGS in refusal(tmp_path / "work", pattern)
    assert RESULTS in refusal(tmp_path / "work", "link/results/*/*")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("path=data/results/q", RESULTS),
        ("path=data/results, pattern=none/*", RESULTS),
        ("path=data/deadletters", BELONGS),
        ("path=data/streams/s, pattern=*.csv", BELONGS),
        ("path=data, pattern=**/part-*.jsonl", RESULTS),
        ("path=., pattern=**/*.json", BELONGS),
    ],
)
def test_a_source_is_refused_when_it_is_opened(data: Path, settings: str, says: str) -> None:
    with pytest.raises(HeadgateError, match=f"source of 'p'.*{says}"):
        open_source(f"directory, {settings}", PLAIN, data.parent)


def test_a_source_ends_when_results_appear_among_its_files(tmp_path: Path) -> None:
    reader = open_source("directory, path=.", PLAIN, tmp_path)
    (tmp_path / "a.jsonl").write_text(ROW)
    assert len(reader.read(0.0)) == 1
    (tmp_path / "b.jsonl").write_text(ROW)
    (tmp_path / RESULT).write_text(ROW)
    with pytest.raises(HeadgateError, match=RESULTS):
        reader.read(1.0)


def test_output_of_spark_is_a_source_and_a_table(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / f".{OF_SPARK}.crc").touch()
    (tmp_path / OF_SPARK).touch()
    check_source(tmp_path)
    assert list(Files(tmp_path, "*").listed().files) == [OF_SPARK]
    for path in (tmp_path, tmp_path / OF_SPARK, tmp_path / "*.parquet"):
        check_table(str(path))


@pytest.mark.parametrize(
    "path",
    [
        "data/results/q",
        "data/results/q/",
        f"data/results/q/{RESULT}",
        "data/results/q/*.jsonl",
        "data/results/*/part-*",
        "data/*/q/merged-*",
        "data/results",
        "data/**/*.jsonl",
        "**/merged-*",
        "link",
        "link/*",
        f"link/{RESULT}",
        "data/commits/../results/q",
    ],
)
def test_results_are_refused_as_a_table(data: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (data.parent / "link").symlink_to(data / "results" / "q")
    with pytest.raises(HeadgateError, match="a table of them may lack rows; copy them: headgate results DIR QUERY"):
        check_table(f"{data.parent}/{path}")
    monkeypatch.chdir(data.parent)
    with pytest.raises(HeadgateError, match=RESULTS):
        check_table(path)


def test_a_copy_of_results_is_a_table_but_not_with_their_schema(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data / "results" / "q", tmp_path / "copy")
    with pytest.raises(HeadgateError, match=RESULTS):
        check_table(str(tmp_path / "copy"))
    for path in (f"copy/{RESULT}", "copy/*.jsonl"):
        check_table(f"{tmp_path}/{path}")
    (tmp_path / "copy" / "schema.arrow").unlink()
    check_table(str(tmp_path / "copy"))


def test_a_table_that_is_declared_has_no_results(data: Path, tmp_path: Path) -> None:
    locate = TableFiles(tmp_path / "aside")
    for within in (None, str(tmp_path)):
        with pytest.raises(HeadgateError, match=RESULTS):
            locate(Table(name="t", path=str(data / "results" / "q"), within=within))
    assert not (tmp_path / "aside").exists()


def test_a_folder_with_another_file_of_that_name_is_a_table(tmp_path: Path) -> None:
    for name in ("schema.arrow", OF_SPARK, "rows.jsonl"):
        (tmp_path / name).touch()
    check_table(str(tmp_path))


@pytest.mark.parametrize("path", ["none", "none/*.csv", "rows.csv", ".", "*", "hdfs://host/data/results/q", "a[b"])
def test_other_paths_are_left_to_spark_as_a_table(tmp_path: Path, path: str) -> None:
    (tmp_path / "rows.csv").write_text("id\n1\n")
    check_table(path if "://" in path else f"{tmp_path}/{path}")


def work(data: Path) -> Path:
    """A folder beside the data directory."""
    folder = data.parent / "work"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize(
    ("name", "target", "pattern"),
    [
        ("letters", "deadletters", "*/*.jsonl"),
        ("letters.jsonl", "deadletters/s.jsonl", "*.jsonl"),
        ("rows.jsonl", f"results/q/{RESULT}", "*.jsonl"),
    ],
)
def test_a_link_in_a_folder_to_headgates_files_is_no_source(data: Path, name: str, target: str, pattern: str) -> None:
    (work(data) / name).symlink_to(data / target)
    with pytest.raises(HeadgateError):
        Files(work(data), pattern).listed()


@pytest.mark.parametrize(
    "path",
    ["file://{}/data/results/q", "file:{}/data/results/q", "{}/data/results/{{q,r}}", "{}/data/results/empty"],
)
def test_results_are_no_table(data: Path, path: str) -> None:
    (data / "results" / "empty").mkdir()
    with pytest.raises(HeadgateError):
        check_table_path(path.format(data.parent))


def test_files_that_links_lead_to_are_no_table(data: Path) -> None:
    (work(data) / "day=1").symlink_to(data / "results" / "q")
    (work(data) / "rows.jsonl").symlink_to(data / "results" / "q" / RESULT)
    for found in (f"day=1/{RESULT}", "rows.jsonl"):  # as Spark names them
        with pytest.raises(HeadgateError):
            check_table_files([(work(data) / found).as_uri()])
