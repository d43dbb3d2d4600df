"""Kill points: named steps at which a test can kill the process, to see what a crash there leaves behind.

`HEADGATE_KILL=log.append.after` kills the process with signal 9 at that step, `log.append.after:3` the third time that
it is reached. Without the variable a kill point costs one look-up.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable

VARIABLE = "HEADGATE_KILL"

POINTS = (
    "log.append.before",
    "log.append.half",  # half of the record is in the file
    "log.append.written",  # all of it, without fsync
    "log.append.after",
    "log.seal.before",
    "log.seal.half",
    "log.seal.written",  # the Parquet file is in place, the tail still there
    "log.seal.rotated",  # a new tail is there, the old one too
    "log.seal.after",
    "log.drop.before",
    "log.drop.recorded",  # the new start is durable, the files are still there
    "log.drop.some",  # a file is removed
    "log.drop.after",
    "commit.append.before",
    "commit.append.half",
    "commit.append.between",  # of several commits, all but the last are in the file, and half of the last
    "commit.append.written",
    "commit.append.after",
    "commit.compact.before",
    "commit.compact.half",
    "commit.compact.written",  # the new file is in place, the old one still there
    "commit.compact.after",
    "sink.forward.before",
    "sink.forward.half",
    "sink.forward.after",
    "sink.adopt.some",  # one of the executors' files is in place
    "sink.compact.before",
    "sink.compact.half",
    "sink.compact.written",  # the merged file is there with the suffix .new, the small files too
    "sink.compact.some",  # a small file is removed
    "sink.compact.removed",  # all small files are removed, the merged one has its suffix still
    "sink.compact.after",
    "letters.keep.before",
    "letters.keep.half",
    "letters.keep.after",
    "letters.take.written",  # the taken letters are in their own file, and in the old one too
    "letters.take.after",
    "letters.settle.before",
    "letters.settle.after",
)

DROP = (  # reached only if a stream is dropped, so not in `POINTS` either
    "stream.remove.before",  # the commit says that it is gone
    "stream.remove.some",  # its dead letters are removed
    "stream.remove.after",
)

# Reached only once in a directory that an earlier version has created, so not in `POINTS`, from which tests draw.
TAKE_OVER = (
    "directory.take-over.before",
    "commit.append.before",  # of the catalog
    "commit.append.half",
    "commit.append.written",
    "commit.append.after",
    "directory.take-over.committed",
    "directory.take-over.half",
    "directory.take-over.after",
)

_seen: Counter[str] = Counter()


def at(point: str, *, first: Callable[[], object] | None = None) -> None:
    """Kill the process here if the environment says so, after doing `first` (half a write, for example)."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    name, _, turn = wanted.partition(":")
    if name != point:
        return
    _seen[point] += 1
    if _seen[point] == int(turn or 1):
        if first is not None:
            first()
        os.kill(os.getpid(), signal.SIGKILL)
