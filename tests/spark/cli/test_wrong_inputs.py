"""Every wrong input: one line on stderr that says what was found and what to do, before Spark starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.spark.cli.conftest import SMALL, Headgate

from headgate.spark.store.atomic_files import write_json
from headgate.spark.store.directory import DataDirectory

COSTS = """
stream = [{ name = "s", arrivals = "at, times=[0]", schema = "id bigint" }]
query = [{ name = "q", from = "s", operators = ["select, cost=5ms"] }]
"""
WRONG = {
    "run none.toml": "none.toml: no such file",
    "run w.toml --policy hnrr": "unknown policy 'hnrr'; did you mean 'hnr'",
    "run w.toml --workers 0": "--workers: must be from 1 to 100, found 0",
    "run w.toml --for 6": '--for has no unit, found 6; write "6 s"',
    "run w.toml --warm 6": '--warm has no unit, found 6; write "6 s"',
    "run w.toml --warm soon": "--warm is not a duration",
    "run w.toml --record gone/t.jsonl": "there is no folder 'gone'",
    "run costs.toml": "query 'q' is given by the costs of its operators, which only the simulator can run; write it as",
    "run bare.toml": "stream 'readings' has no schema, which the engine needs; write for example schema",
    "run sink.toml": "unknown sink 'parket'; did you mean 'parquet'",
    "run table.toml": "'db alerts' is not a name of a table",
    "run w.toml --dir old": "old/headgate.json: the data directory has format 0, this Headgate reads formats 1, 2, 3",
    "run w.toml --dir taken": "taken: the data directory is in use by process",
    "run w.toml --dir full": "the folder is not a data directory and not empty: it holds 'file'",
    "results gone q": "gone: there is no such directory; give the one that headgate run named",
    "results full q": "full: is not a directory of a run",
    "results old q": "format 0, this Headgate reads formats 1, 2, 3, 4",
    "results taken q": "taken: unknown query 'q'; known: cold, hot",
    "results taken hot --json --csv": "--json and --csv are both given; leave one of them out",
    "results taken hot --rows=-1": "--rows must be at least 0, found -1",
    "dead gone": "gone: there is no such directory",
    "dead old": "format 0",
    "dead taken x": "taken: unknown stream 'x'; there is no stream at all",
    "dead taken --rows=-1": "--rows must be at least 0, found -1",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    small = SMALL.format(source="poisson, rate=50")
    files = {
        "w.toml": small,
        "costs.toml": COSTS,
        "bare.toml": small.replace('schema = "id bigint, temp double, ts timestamp"\n', "").replace(
            "WHERE temp >= 50", ""
        ),
        "sink.toml": small.replace('sink = "jsonl"', 'sink = "parket"'),
        "table.toml": small.replace('sink = "jsonl"', 'sink = "table, name=db alerts"'),
    }
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("old").mkdir()
    write_json(Path("old/headgate.json"), {"format": 0})
    Path("full").mkdir()
    Path("full/file").touch()
    with DataDirectory("taken") as taken:
        for query in ("hot", "cold"):
            taken.result(query).mkdir()
        yield


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", WRONG)
def test_wrong_input(headgate: Headgate, command: str) -> None:
    before = sorted(Path().rglob("*"))
    result = headgate(*command.split())
    assert sorted(Path().rglob("*")) == before
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("headgate: ")
    assert result.stderr.count("\n") == 1
    assert WRONG[command] in result.stderr
