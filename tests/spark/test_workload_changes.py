"""What a workload file changes in a directory that has been used before; no Spark is needed to tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headgate.model import HeadgateError
from headgate.plan.fusion import Fuse
from headgate.spark.machine.definitions import definition
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit
from headgate.spark.store.directory import DataDirectory
from headgate.spark.workload_changes import planned_changes, stored_state, workload_source
from headgate.workload import Workload, parse_workload

FILE = """
[workload]
name = "plant"

[[stream]]
name = "sensors"
schema = "id bigint, temp double, ts timestamp"
event_time = "ts"
watermark = "2 s"
source = "poisson, rate=5"

[[table]]
name = "rooms"
path = "rooms.csv"
schema = "id bigint, room string"

[[class]]
name = "high"
priority = 10

[[class]]
name = "low"
priority = 1

[[query]]
name = "hot"
class = "high"
sql = "SELECT id, temp FROM sensors WHERE temp > 90"

[[query]]
name = "all"
class = "low"
sql = "SELECT id, temp FROM sensors"
sink = "jsonl"
"""


def read(text: str = FILE, *changes: tuple[str, str]) -> Workload:
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    return parse_workload(text)


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A directory in which the file has been run."""
    workload, path = read(), tmp_path / "data"
    found = planned_changes(workload, path)
    with DataDirectory(path) as directory:
        log = CommitLog(directory.commits)
        catalog: dict[str, Any] = {"classes": {"high": {"priority": 10.0, "lag": None}, "low": _low()}}
        catalog["streams"] = {"sensors": _entry(workload)}
        catalog["tables"] = {"rooms": {"path": str(Path("rooms.csv").absolute()), "given": False, "schema": _ROOMS}}
        catalog["settings"] = {"policy": "hnr", "fuse": "class", "seed": 1}
        queries = {query.name: definition(query) | {"starts": {"0": 0}} for query in workload.queries}
        log.append(Commit(catalog=catalog, queries=queries))
        log.close()
    assert found.fresh
    return path


_ROOMS = [["id", "bigint"], ["room", "string"]]


def _low() -> dict[str, Any]:
    return {"priority": 1.0, "lag": None}


def _entry(workload: Workload) -> dict[str, Any]:
    from headgate.spark.engine.catalog_entries import stream_entry

    return stream_entry(workload.streams[0], workload_source(workload, workload.streams[0]))


def lines(path: Path, workload: Workload, **settings: Any) -> list[str]:
    return list(map(str, planned_changes(workload, path, **settings).lines))


def test_a_new_directory_gets_everything(tmp_path: Path) -> None:
    wanted = ["stream sensors", "table rooms", "class high", "class low", "query hot", "query all"]
    assert lines(tmp_path / "none", read()) == [f"+ {name}" for name in wanted]
    assert not (tmp_path / "none").exists()


def test_the_same_file_changes_nothing(used: Path) -> None:
    found = planned_changes(read(), used)
    assert (found.lines, found.fresh, found.other_sql) == ([], False, {})
    before = stored_state(used)
    found.write(used)
    assert stored_state(used) == before


CHANGES: dict[str, tuple[tuple[tuple[str, str], ...], list[str]]] = {
    "priority": ((("priority = 10", "priority = 60"),), ["~ class high: priority 10 → 60"]),
    "class of a query": (
        (('class = "high"\nsql', 'class = "low"\nsql'),),
        ["~ query hot: class 'high' → 'low'"],
    ),
    "sink": ((('sink = "jsonl"', 'sink = "parquet"'),), ["~ query all: sink 'jsonl' → 'parquet'"]),
    "SQL": ((("temp > 90", "temp > 80"),), ["~ query hot: other SQL"]),
    "source": ((("rate=5", "rate=7"),), ["~ stream sensors: source 'poisson, rate=5' → 'poisson, rate=7'"]),
    "types in other words": ((("id bigint, temp", "id LONG, temp"),), []),
    "a query goes": (
        (('[[query]]\nname = "all"\nclass = "low"\nsql = "SELECT id, temp FROM sensors"\nsink = "jsonl"\n', ""),),
        ["- query all: its results stay"],
    ),
    "a query comes": (
        (('[[query]]\nname = "hot"', '[[query]]\nname = "new"\nclass = "low"\nsql = "SELECT id FROM sensors"\n'
          '\n[[query]]\nname = "hot"'),),
        ["+ query new"],
    ),
    "a class comes and a query moves to it": (
        (('[[class]]\nname = "low"', '[[class]]\nname = "top"\npriority = 99\n\n[[class]]\nname = "low"'),
         ('class = "high"\nsql', 'class = "top"\nsql')),
        ["+ class top", "~ query hot: class 'high' → 'top'"],
    ),
    "qos": (
        (('sink = "jsonl"', 'sink = "jsonl"\nqos = [[0.0, 1.0], [2.0, 0.0]]'),),
        ["~ query all: qos none → (0.0 1.0, 2.0 0.0)"],
    ),
    "targets": (
        (('sink = "jsonl"', 'sink = "jsonl"\ntarget = "500ms"'),
         ("priority = 10", 'priority = 10\ntarget = "p99 2 s"')),
        ["~ class high: target 'p99 2 s'", "~ query all: target none → 'p95 500 ms'"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_the_plan_names_each_change_and_its_commit_makes_it(used: Path, change: str) -> None:
    edits, expected = CHANGES[change]
    workload = read(FILE, *edits)
    found = planned_changes(workload, used)
    assert list(map(str, found.lines)) == expected
    found.write(used)
    left = planned_changes(workload, used)  # what is declared anew, and other SQL, is left to the engine
    assert all(line.sign == "+" or "other SQL" in line.details for line in left.lines)
    assert found.other_sql == ({"hot": "SELECT id, temp FROM sensors WHERE temp > 90"} if change == "SQL" else {})


def test_a_policy_and_fusion_are_compared_if_they_are_given(used: Path) -> None:
    assert lines(used, read(), policy="hnr", fuse=Fuse.CLASS) == []
    assert lines(used, read(), policy="bsd", fuse=Fuse.ALL) == ["~ policy 'hnr' → 'bsd'", "~ fuse 'class' → 'all'"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (
            'watermark = "2 s"',
            'watermark = "5 s"',
            "cannot change its watermark from 2 s to 5 s: windows that have closed",
        ),
        ("temp double,", "temp float,", r"cannot change its schema from \(id bigint, temp double, ts timestamp\) to"),
        ('event_time = "ts"\nwatermark = "2 s"\n', "", "cannot change its event_time from 'ts' to none"),
        ('sink = "jsonl"', "once = true", "'all' is a continuous query in the data directory"),
    ],
)
def test_what_cannot_change_says_why(used: Path, before: str, after: str, why: str) -> None:
    state = stored_state(used)
    with pytest.raises(HeadgateError, match=rf"{why}.*another data directory"):
        planned_changes(read(FILE, (before, after)), used)
    assert stored_state(used) == state


def test_streams_that_old_sql_reads_stay_until_the_engine_has_replaced_it(used: Path) -> None:
    other = FILE.replace('name = "sensors"', 'name = "meters"', 1).replace("FROM sensors", "FROM meters")
    found = planned_changes(read(other), used)
    assert "- stream sensors" in list(map(str, found.lines))
    found.write(used)
    assert "sensors" in stored_state(used).catalog["streams"]
