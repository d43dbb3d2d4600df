"""A data directory of format 2, as a Headgate of that time left it when it was killed.

Stream `s` has a sealed log segment, late rows and a tail; `t` has rows that a paused query has not read. Queries were
cut into fragments, with rows between them. The results of some are only in the commit log, since their sinks had not
taken them yet: `kept` writes files once an hour, the callback of `called` has refused. `once` has read all. `named`
reads a table that was a DataFrame.

    python -m tests.spark.store.format_2
"""

from __future__ import annotations

import sys
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.spark.store.builders import scratch
from tests.spark.store.format_1 import format_of, taken_over
from tests.spark.store.kills import ended, fork

from headgate.spark.store.commits.commit_log import read_state
from headgate.spark.store.directory import VERSION
from headgate.spark.store.kill_points import TAKE_OVER

FIXTURE = Path(__file__).parent / "fixtures" / "version2.tar.gz"
LAST = 41  # rows of `s` that were in time, and one late
LATE = {"id": 100, "v": 9}
QUERIES = {"kept", "lines", "counts", "pairs", "called", "named", "words", "once"}
CATALOG = {
    "streams": {
        "s": {
            "schema": [["id", "bigint"], ["v", "int"], ["ts", "timestamp"]],
            "event_time": "ts",
            "watermark": 2.0,
            "ahead": 3600.0,
        },
        "t": {
            "schema": [["id", "bigint"], ["word", "string"]],
            "event_time": None,
            "watermark": 0.0,
            "ahead": 3600.0,
        },
    },
    "classes": {"high": {}, "low": {}},
}


def unpacked(folder: Path) -> Path:
    """The directory, in a folder of its own."""
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "version2"


def rows(first: int, last: int) -> list[dict[str, object]]:
    """Rows of `s`, as the directory has those from 0 to 41."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    return [{"id": n, "v": n % 5, "ts": begin + timedelta(seconds=n)} for n in range(first, last)]


def killed(folder: Path, point: str) -> list[str]:
    """What is wrong after a take-over that is killed at a point, and done again."""
    directory = unpacked(folder)
    before = read_state(directory / "commits")
    if not ended(fork(lambda: taken_over(directory, point))):
        return ["was not passed"]
    wrong = [] if format_of(directory) == (VERSION if point == TAKE_OVER[-1] else 2) else ["half taken over"]
    for _ in range(2):
        taken_over(directory)
        state = read_state(directory / "commits")
        wrong += [] if state.catalog == CATALOG else [f"catalog: {state.catalog}"]
        wrong += [] if (state.queries, state.positions) == (before.queries, before.positions) else ["queries"]
        wrong += [] if format_of(directory) == VERSION else ["not taken over"]
    return wrong


def main() -> int:
    failures: dict[str, list[str]] = {}
    for point in TAKE_OVER:
        with scratch() as folder:
            if wrong := killed(Path(folder), point):
                failures[point] = wrong
    print(f"{len(TAKE_OVER)} kills: {failures or 'none lost, none doubled'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
