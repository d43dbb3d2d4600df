"""Dead-letter replay: appends dead letters to their stream again, with the checks of any append.

Letters that can be read as rows are *taken* out of the dead letters and appended as one batch with its own id; then
they are *settled*, that is, forgotten. Rows that the log rejects become dead letters again. After a crash in between,
there are letters that are taken and not settled: whoever opens the stream next appends them under the same batch id, so
none is lost and none is in the stream twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import pyarrow as pa

from headgate.model.times import within_years
from headgate.spark.ingest.parsing.records import rows_of
from headgate.spark.store.dead_letters import DeadLetters, Letter, Taken
from headgate.spark.store.json_lines import from_plain
from headgate.spark.store.log.stream_log import Appended, StreamLog

IN_THE_LOG = "its tuple is in the stream: correct the query"
LATE = "its tuple is in the stream: queries without windows have it"
EARLIER = "in an attempt that was broken off"
_NO_ROW = (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, pa.ArrowException)


@dataclass(slots=True)
class LetterReplay:
    """The outcome of a replay of one stream's letters."""

    stream: str
    taken: int = 0  # letters that are rows of the stream now
    dead_again: Counter[str] = field(default_factory=Counter)  # by reason
    left: Counter[str] = field(default_factory=Counter)  # letters that cannot be replayed, by reason


def replay(log: StreamLog, letters: DeadLetters, arrival: float, reason: str = "") -> LetterReplay:
    """Append a stream's dead letters to it again, all or those whose reason contains a text.

    Nobody else may append to the stream meanwhile.
    """
    outcome = complete(log, letters, arrival)

    def choose(letter: Letter) -> Letter | None:
        if reason not in letter.reason:
            return None
        if letter.row is None and letter.text is None:  # it was late, or an expression of a query failed on it
            outcome.left[LATE if letter.reason.startswith("late") else IN_THE_LOG] += 1
            return None
        readable = as_row(letter, log.schema)
        if readable is None:
            outcome.dead_again[letter.reason] += 1
        return readable

    taken = letters.take(choose)
    if taken is not None:
        _append(log, letters, taken, arrival, outcome)
    return outcome


def complete(log: StreamLog, letters: DeadLetters, arrival: float) -> LetterReplay:
    """Finish what a crash interrupted: keep tuples of the newest append that were rejected, settle taken letters."""
    outcome = LetterReplay(log.stream.name)
    if log.newest is not None:
        letters.keep(log.newest)
    taken = letters.unsettled()
    if taken is not None:
        _append(log, letters, taken, arrival, outcome)
    return outcome


def as_row(letter: Letter, schema: pa.Schema) -> Letter | None:
    """The letter with its text read as a row, None where it is no row of the stream.

    >>> schema = pa.schema([("id", pa.int64())])
    >>> as_row(Letter("broken", 0.0, text='{"id": 7}'), schema).row
    {'id': 7}
    >>> as_row(Letter("broken", 0.0, text='{"id": "x"}'), schema), as_row(Letter("late", 0.0, row={"id": "x"}), schema)
    (None, None)
    """
    if letter.row is None:
        rows, _ = rows_of([letter.text], schema)
        return replace(letter, row=rows.to_pylist()[0], text=None) if rows.num_rows else None
    try:
        row = from_plain([letter.row], schema)
    except _NO_ROW:  # somebody has edited the file
        return None
    return letter if all(map(within_years, row.columns)) else None


def _append(log: StreamLog, letters: DeadLetters, taken: Taken, arrival: float, outcome: LetterReplay) -> None:
    appended = log.append(taken.rows(log.schema), arrival, taken.batch)
    letters.keep(appended)
    letters.settle(taken)
    outcome.taken += appended.last - appended.first
    outcome.dead_again += _rejected(appended, len(taken.letters))


def _rejected(appended: Appended, given: int) -> Counter[str]:
    """Why rows of an append are dead again; for a batch that the log had already only their number is known.

    >>> _rejected(Appended(0, 10, 12, 0.0), 5)
    Counter({'in an attempt that was broken off': 3})
    """
    if not appended.number:
        return Counter({EARLIER: given - (appended.last - appended.first)})
    return Counter({why: rows.num_rows for rows, why in appended.rejected})
