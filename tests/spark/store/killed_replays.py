"""Dead-letter replay is killed at each of its kill points, then done twice more; then all tuples are counted.

python -m tests.spark.store.killed_replays
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

from tests.spark.store.builders import DELAY, SCHEMA, STREAM, rows, scratch
from tests.spark.store.kills import ended, fork

from headgate.spark.ingest.dead_letter_replay import LetterReplay, replay
from headgate.spark.store.dead_letters import DeadLetters, Letter
from headgate.spark.store.kill_points import POINTS, VARIABLE
from headgate.spark.store.log.late_rows import NO_EVENT_TIME
from headgate.spark.store.log.stream_log import StreamLog

PASSED = [point for point in POINTS if point.startswith(("log.append", "letters"))]
NOW = "1970-01-01T00:00:00.000500+00:00"
TAKEN, BROKEN, FAILED = range(20, 26), "{broken", Letter("query q: division by zero", 4.0, offset=1)
FORMER = Letter("late", 3.5, row={"id": 30, "name": "x", "ts": "1970-01-01T00:00:00.000003+00:00"})


def prepare(folder: Path) -> None:
    """A log with rows and every kind of letter: late ones of either version, corrected, readable text, no text."""
    log, letters = opened(folder)
    log.append(rows([500 + DELAY, 500]), 0.0, "b1")
    letters.keep(log.append(rows([1, None, 2], 10), 1.0, "b2"))  # late, without event time, late
    letters.add([Letter(NO_EVENT_TIME, 2.0, row={"id": number, "name": "x", "ts": NOW}) for number in TAKEN[:3]])
    letters.add([Letter("broken", 3.0, text=f'{{"id": {number}, "ts": "{NOW}"}}') for number in TAKEN[3:]])
    letters.add([Letter("broken", 3.0, text=BROKEN), FAILED, FORMER])
    log.close()


def opened(folder: Path) -> tuple[StreamLog, DeadLetters]:
    return StreamLog.open(folder / "s", STREAM, SCHEMA), DeadLetters(folder / "s.jsonl")


def again(folder: Path, point: str = "") -> LetterReplay:
    if point:
        os.environ[VARIABLE] = point
    log, letters = opened(folder)
    try:
        return replay(log, letters, 5.0)
    finally:
        log.close()


def wrong(folder: Path) -> list[str]:
    """What is lost or doubled."""
    log, letters = opened(folder)
    rows = log.read(log.start, log.end)
    counts = Counter(rows["id"].to_pylist())
    log.close()
    where = {offset: number for number, offset in zip(rows["id"].to_pylist(), rows["_offset"].to_pylist(), strict=True)}
    reasons = Counter((letter.reason, letter.text or _id(letter, where)) for letter in letters.letters())
    asked: list[tuple[str, str | int]] = [("late by 500 us", number) for number in (10, 12, 30)]
    asked += [(NO_EVENT_TIME, 11), ("broken", BROKEN), (FAILED.reason, 1)]
    differences = [f"log: {counts}"] if counts != Counter([0, 1, 10, 12, *TAKEN, 30]) else []
    differences += [f"letters: {reasons}"] if reasons != Counter(asked) else []
    return differences + [f"left over: {path.name}" for path in folder.glob("*.taken-*")]


def _id(letter: Letter, where: dict[int, int]) -> int:
    """The tuple that a letter is of, wherever its row is."""
    return letter.row["id"] if letter.row is not None else where[letter.offset or 0]


def killed(folder: Path, point: str) -> list[str]:
    """What is wrong after a kill at a point and two more attempts."""
    prepare(folder)
    if not ended(fork(lambda: again(folder, point))):
        return ["was not passed"]
    again(folder)
    again(folder)
    return wrong(folder)


def main() -> int:
    failures: dict[str, list[str]] = {}
    for point in PASSED:
        with scratch() as folder:
            if differences := killed(Path(folder), point):
                failures[point] = differences
    print(f"{len(PASSED)} kills: {failures or 'none lost, none doubled'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
