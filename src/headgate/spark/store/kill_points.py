"""Named moments at which a test may kill the process, as a power cut would.

`HEADGATE_KILL=log.append.after` kills the process with signal 9 at that point, `log.append.after:3` the third time it
comes there. Without the variable a point costs one look-up.
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
    "log.append.written",  # all of it, not yet on disk for certain
    "log.append.after",
    "log.seal.before",
    "log.seal.half",
    "log.seal.written",  # the Parquet file is in place, the records too
    "log.seal.rotated",  # a new tail exists, the old one too
    "log.seal.after",
    "log.drop.before",
    "log.drop.recorded",  # the new start is durable, the files still exist
    "log.drop.some",  # a file is gone
    "log.drop.after",
    "commit.append.before",
    "commit.append.half",
    "commit.append.between",  # of several commits all but the last are in the file, and half of that one
    "commit.append.written",
    "commit.append.after",
    "commit.compact.before",
    "commit.compact.half",
    "commit.compact.written",  # the new file is in place, the old one too
    "commit.compact.after",
    "sink.forward.before",
    "sink.forward.half",
    "sink.forward.after",
    "sink.adopt.some",  # one of the files written aside is in place
    "sink.compact.before",
    "sink.compact.half",
    "sink.compact.written",  # the merged file is there under a name for Headgate alone, the small ones too
    "sink.compact.some",  # a small one is gone
    "sink.compact.removed",  # all small ones are gone, the merged one does not have its name yet
    "sink.compact.after",
    "letters.keep.before",
    "letters.keep.half",
    "letters.keep.after",
    "letters.take.written",  # those taken are in a file of their own, and in the old one too
    "letters.take.after",
    "letters.settle.before",
    "letters.settle.after",
)

# Passed once in the life of a directory that a former version has made, so not by those who pass the others at random.
TAKE_OVER = (
    "directory.take-over.before",
    "directory.take-over.half",
    "directory.take-over.after",
)

_seen: Counter[str] = Counter()


def at(point: str, *, first: Callable[[], object] | None = None) -> None:
    """Die here if the environment says so, after doing `first` (half a write, for example)."""
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
