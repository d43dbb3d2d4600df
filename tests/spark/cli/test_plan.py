"""A workload file that has changed, on the directory in which it ran before: the plan, and what it does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.cli.conftest import Headgate

from headgate.model import HeadgateError
from headgate.spark.session import Session
from headgate.spark.workload import open_workload
from headgate.spark.workload_changes import stored_state
from headgate.workload.reader import read_workload

PATIENCE = 60.0
FILE = """
[workload]
name = "plant"

[[stream]]
name = "s"
schema = "id bigint, temp double"
source = "directory, path=incoming"

[[class]]
name = "high"
priority = 10

[[class]]
name = "low"
priority = 1

[[query]]
name = "hot"
class = "low"
sql = "SELECT id FROM s WHERE temp > 50"
since = "start"

[[query]]
name = "all"
class = "low"
sql = "SELECT id FROM s"
since = "start"

[[query]]
name = "old"
class = "low"
sql = "SELECT id FROM s WHERE id < 3"
since = "start"
"""
CHANGED = (
    FILE.replace("temp > 50", "temp > 70")
    .replace("priority = 10", "priority = 60")
    .replace('name = "hot"\nclass = "low"', 'name = "hot"\nclass = "high"')
    .replace('name = "all"', 'name = "all"\nsink = "jsonl"')
    .replace('name = "old"', 'name = "new"')
)
PLAN = [
    "~ class high: priority 10 → 60",
    "~ query hot: other SQL, class 'low' → 'high'",
    "~ query all: sink 'parquet' → 'jsonl'",
    "+ query new",
    "- query old: its results stay",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "incoming").mkdir()
    (tmp_path / "plant.toml").write_text(FILE)
    put(tmp_path, 0)
    return tmp_path


def put(folder: Path, first: int) -> None:
    """Ten rows, as one file."""
    rows = [json.dumps({"id": n, "temp": 10.0 * (n % 10)}) for n in range(first, first + 10)]
    (folder / "incoming" / f"{first}.jsonl").write_text("\n".join(rows) + "\n")


def run(spark: SparkSession, folder: Path, rows: int, **settings: Any) -> Session:
    """Run the file until all rows are done."""
    session = open_workload(read_workload(folder / "plant.toml"), spark=spark, directory=folder / "data", **settings)
    assert session.engine.logs["s"] is not None
    while session.engine.logs["s"].end < rows:
        assert not session.sources.thread.errors
    assert session.drain(PATIENCE)
    return session


def ids(session: Session, name: str) -> list[int]:
    found: list[int] = sorted(session[name].read()["id"].to_pylist())
    return found


def test_a_changed_file_shows_its_plan_and_makes_it(headgate: Headgate, spark: SparkSession, folder: Path) -> None:
    file, data = folder / "plant.toml", folder / "data"
    run(spark, folder, 10, policy="hnr").close()
    put(folder, 10)
    file.write_text(CHANGED)
    before = stored_state(data)
    shown = headgate("run", file, "--dir", data, "--dry-run", "--policy", "bsd")
    assert shown.exit_code == 0, shown.output
    assert [line.strip() for line in shown.stdout.splitlines()[1:]] == [*PLAN, "~ policy 'hnr' → 'bsd'"]
    told = json.loads(headgate("run", file, "--dir", data, "--dry-run", "--json").stdout)
    assert [entry["change"] for entry in told["changes"]] == ["change", "change", "change", "add", "remove"]
    assert stored_state(data) == before

    session = run(spark, folder, 20)
    assert session.status().policy == "hnr"  # nobody has said another
    assert {line.name: line.query_class for line in session.status().queries} == {
        "hot": "high",
        "all": "low",
        "new": "low",
    }
    assert session.engine.overview().classes["high"].priority == 60.0
    assert ids(session, "hot") == [6, 7, 8, 9, 18, 19]  # the other SQL from where the query stood
    assert ids(session, "all") == list(range(20))
    assert ids(session, "new") == [0, 1, 2]
    session.close()
    assert (folder / "data" / "results" / "old").is_dir()
    assert headgate("run", file, "--dir", data, "--dry-run").stdout == f"nothing changes in {data}\n"
    file.write_text(CHANGED.replace("id bigint, temp double", "id bigint, temp float"))
    refused = headgate("run", file, "--dir", data)
    assert refused.exit_code == 2
    assert "stream 's' cannot change its schema from" in refused.stderr
    file.write_text(CHANGED.replace("SELECT id FROM s WHERE temp", "SELECT temp FROM s WHERE temp"))
    before = stored_state(data)
    with pytest.raises(HeadgateError, match="query 'hot' gives id int64, the new SQL temp double"):
        run(spark, folder, 20)
    assert stored_state(data) == before


def test_without_a_file_there_must_be_a_used_directory(headgate: Headgate, tmp_path: Path) -> None:
    for arguments, why in (
        (("run",), "there is nothing to run; give a workload file, or --dir"),
        (("run", "--dir", tmp_path / "none"), "nothing was declared in this directory; give a workload file"),
        (("run", "--dir", tmp_path / "none", "--dry-run"), "--dry-run shows what a file would change"),
    ):
        result = headgate(*arguments)
        assert (result.exit_code, why in result.stderr) == (2, True), result.stderr
    assert list(tmp_path.iterdir()) == []


NOPE = """[[stream]]
name = "t"
schema = "x array<nope>"
source = "poisson, rate=1"

[[class]]"""
REFUSED = {
    "SQL that Spark refuses": FILE.replace('name = "old"', 'name = "n"').replace("id < 3", "id + map('a', 1) < 3"),
    "a type that is none": FILE.replace('name = "old"', 'name = "n"').replace("[[class]]", NOPE, 1),
    "a table that cannot be": FILE.replace('name = "old"', 'name = "n"\nsink = "table, name=nodb.t"'),
}


def test_a_file_that_is_refused_changes_nothing(spark: SparkSession, folder: Path) -> None:
    """The query `old` would go, and come back without its place in the stream."""
    session = run(spark, folder, 10, policy="hnr, level=operator")
    session["hot"].pause()
    session.close()
    before = stored_state(folder / "data")
    for name, text in REFUSED.items():
        (folder / "plant.toml").write_text(text)
        with pytest.raises(HeadgateError):
            run(spark, folder, 10)
        assert stored_state(folder / "data") == before, name
    (folder / "plant.toml").write_text(FILE.replace("temp > 50", "temp > 70"))  # of a paused query in fragments
    put(folder, 10)
    session = run(spark, folder, 20)
    assert session["hot"].status.state == "paused"
    session["hot"].resume()
    assert session.drain(PATIENCE)
    assert ids(session, "hot") == [6, 7, 8, 9, 18, 19]
    session.close()


def test_pending_results_of_a_callback_are_not_lost_to_a_file(spark: SparkSession, folder: Path) -> None:
    with Session(spark=spark, directory=folder / "data") as session:
        session.stream("s", "id bigint, temp double", source=f"directory, path={folder / 'incoming'}")
        session.create_class("low", 1)
        session.query("all", "SELECT id FROM s", query_class="low", callback=print)
    with pytest.raises(HeadgateError, match="'all' gives its results to a callback, which may not have taken all"):
        run(spark, folder, 10)
