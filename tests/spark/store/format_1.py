"""A data directory of format 1, as a Headgate of that time left it when it was killed.

Stream `s` has a sealed log segment and appends in its tail, of which the newest has rejected rows that are not dead
letters yet; queries `rows` and `counts` have committed some runs.

    python -m tests.spark.store.format_1
"""

from __future__ import annotations

import os
import sys
import tarfile
from pathlib import Path

import pyarrow as pa
from tests.spark.sinks.delivering import Store
from tests.spark.store.builders import scratch
from tests.spark.store.kills import ended, fork

from headgate.model import Stream
from headgate.spark.ingest.dead_letter_replay import complete, replay
from headgate.spark.store.atomic_files import read_json
from headgate.spark.store.dead_letters import DeadLetters
from headgate.spark.store.directory import VERSION, DataDirectory
from headgate.spark.store.kill_points import TAKE_OVER, VARIABLE
from headgate.spark.store.log.stream_log import StreamLog

FIXTURE = Path(__file__).parent / "fixtures" / "version1.tar.gz"
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int32()), ("ts", pa.timestamp("us", "UTC"))])
STREAM = Stream(name="s", event_time="ts", watermark=2.0)
LATE, WITHOUT = [7, 8, 18, 20], [11, 22]
IN_TIME = [number for number in range(24) if number not in (*LATE, *WITHOUT)]


def unpacked(folder: Path) -> Path:
    """The directory, in a folder of its own."""
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "version1"


def taken_over(directory: Path, point: str = "") -> None:
    if point:
        os.environ[VARIABLE] = point
    DataDirectory(directory).close()


def format_of(directory: Path) -> int:
    version: int = read_json(directory / "headgate.json")["format"]
    return version


def wrong(path: Path) -> list[str]:
    """What is lost, doubled or understood otherwise than it was meant."""
    with DataDirectory(path) as directory:
        store = Store(directory)
        stand = {name: sum(leaves.values()) for name, leaves in store.positions.items()}
        store.close()
        log = StreamLog.open(directory.stream("s"), STREAM, SCHEMA)
        letters = DeadLetters(directory.letters("s"))
        complete(log, letters, 0.0)
        reasons = sorted((letter.reason, (letter.row or {})["id"]) for letter in letters.letters())
        rows = log.read(0, log.end)
        log.close()
    differences = [] if (rows["id"].to_pylist(), any(rows["_late"].to_pylist())) == (IN_TIME, False) else ["log"]
    differences += [] if stand == {"rows": 13, "counts": 9} else [f"positions: {stand}"]
    differences += [] if log.frontier_at(log.end) == 1_577_836_822_000_000 else ["frontier"]
    asked = [*(("late", number) for number in LATE), *(("no event time", number) for number in WITHOUT)]
    return differences + ([] if reasons == asked else [f"letters: {reasons}"])


def replayed(path: Path) -> list[tuple[int, bool]]:
    """The rows of the log and their marks after its letters were given to it again."""
    with DataDirectory(path) as directory:
        log = StreamLog.reopen(directory.stream("s"))
        replay(log, DeadLetters(directory.letters("s")), 9.0)
        rows = log.read(0, log.end)
        log.close()
    return list(zip(rows["id"].to_pylist(), rows["_late"].to_pylist(), strict=True))


def killed(folder: Path, point: str) -> list[str]:
    """What is wrong after a take-over that is killed at a point, and done again."""
    directory = unpacked(folder)
    if not ended(fork(lambda: taken_over(directory, point))):
        return ["was not passed"]
    differences = [] if format_of(directory) == (VERSION if point == TAKE_OVER[-1] else 1) else ["half taken over"]
    return differences + wrong(directory) + wrong(directory)


def main() -> int:
    failures: dict[str, list[str]] = {}
    for point in TAKE_OVER:
        with scratch() as folder:
            if differences := killed(Path(folder), point):
                failures[point] = differences
    print(f"{len(TAKE_OVER)} kills: {failures or 'none lost, none doubled'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
