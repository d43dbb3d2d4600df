"""What `headgate run` shows while it runs: a table that fills the terminal, or without one a line now and then."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, ConsoleDimensions, Group
from rich.live import Live
from rich.text import Text

from headgate import logs
from headgate.cli.alarms import disk_alarm, stalled_alarm
from headgate.cli.console import note
from headgate.cli.number_format import NOTHING
from headgate.cli.status_table import judged, status_table
from headgate.cli.urgency import counted_states
from headgate.model.number_text import duration

if TYPE_CHECKING:
    from headgate.metrics.measures.targets import TargetStatus
    from headgate.spark.status import Status

Look = Callable[[], "Status"]

UPDATE = 0.5  # seconds between two pictures
LINE = 10.0  # seconds between two lines if there is no terminal
MOST_FAILURES = 3  # lines about what has failed


class Display:
    """Shows nothing: the caller wants to be quiet."""

    def update(self, look: Look, seconds: float) -> None:
        """Show how the engine is doing after so many seconds, if it is time for that."""

    def note(self, text: str) -> None:
        """Say something that must not be missed."""
        note(text)


class Lines(Display):
    """Prints one line on stderr every 10 s."""

    def __init__(self) -> None:
        self._next = LINE

    def update(self, look: Look, seconds: float) -> None:
        if seconds >= self._next:
            self._next = seconds + LINE
            note(one_line(look(), seconds))


class LiveTable(Display):
    """A table on the terminal's alternate screen, drawn anew every half second and when the terminal's size changes.

    What is said meanwhile comes when the former screen is back.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._console = Console(file=terminal, highlight=False, force_terminal=True)
        self._live = Live(
            console=self._console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
        self._next = 0.0
        self._status: Status | None = None
        self._notes: list[str] = []

    def __enter__(self) -> LiveTable:
        self._resized()
        self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._live.stop()

    def update(self, look: Look, seconds: float) -> None:
        resized = self._resized()
        if seconds >= self._next or self._status is None:
            before = time.monotonic()
            self._status = look()
            self._draw(seconds)
            took = time.monotonic() - before
            self._next = seconds + max(UPDATE, 10 * took)  # looking must not cost what it looks at
        elif resized:
            self._draw(seconds)

    def note(self, text: str) -> None:
        self._notes.append(text)

    def say_notes(self) -> None:
        """Print what was said meanwhile."""
        for text in self._notes:
            note(text)

    def _draw(self, seconds: float) -> None:
        assert self._status is not None
        lines = picture(self._status, seconds, *self._console.size, notes=self._notes)
        self._live.update(Group(*lines), refresh=True)

    def _resized(self) -> bool:
        """Ask the terminal for its size, which Rich would ask of stdin, stdout or stderr; whether it has changed."""
        size = ConsoleDimensions(*os.get_terminal_size(self._terminal.fileno()))
        if not size.width or not size.height or size == self._console.size:
            return False
        self._console.size = size
        return True


@contextmanager
def display(log: Path, *, quiet: bool, prints_results: bool = False) -> Iterator[Display]:
    """What suits the place to which stderr goes: a table on a terminal, else lines; nothing at all if quiet.

    While there is a table, all else that this process and its libraries write to stderr is appended to a log file. If
    the user has asked for our own log on stderr, or for results on the same terminal, lines go well with these.
    """
    if quiet:
        yield Display()
    elif not _is_terminal() or logs.on_stderr() or (prints_results and sys.stdout.isatty()):
        yield Lines()
    else:
        with _stderr_to(log) as terminal, LiveTable(terminal) as table:
            yield table
        table.say_notes()


def picture(status: Status, seconds: float, width: int, height: int, notes: list[str] | None = None) -> list[Text]:
    """All lines of the live table: one of the run, one of counts, the table, what has failed, what workers do."""
    below = [*_failures(status, notes or []), *filter(None, [judged(status)]), _running(status)]
    above = [f"{seconds:.0f} s under {status.policy}, {counted_runs(status)}", _counts(status)]
    table = status_table(status, width, max(6, height - len(above) - len(below)))
    lines = [*map(_line, above), *table, *map(_line, below)]
    return lines[:height]


def one_line(status: Status, seconds: float) -> str:
    """How the engine is doing, in one line."""
    total = status.total()
    p95 = NOTHING if total.recent.p95 is None else f"{total.recent.p95:.2f} s"
    starved = "".join(f"; {sentence}" for sentence in starvation(status))
    return (
        f"{seconds:.0f} s: {_counts(status)}; {total.rate:,.0f} tuples/s in, {total.waiting:,} waiting, "
        f"the oldest for {total.oldest_wait:.2f} s; latency p95 {p95}; {total.dead_letters:,} dead letters{starved}"
    )


def counted_runs(status: Status) -> str:
    """How many runs and Spark jobs there have been."""
    runs, jobs = ("" if count == 1 else "s" for count in (status.runs, status.spark_jobs))
    cancelled = f" ({status.cancelled_runs:,} cancelled)" if status.cancelled_runs else ""
    return f"{status.runs:,} run{runs}{cancelled}, {status.spark_jobs:,} Spark job{jobs}"


def starvation(status: Status) -> list[str]:
    """Which classes get nothing while others run, and what to do."""
    return [
        f"class {line.name} gets nothing: its tuples have waited for {line.oldest_wait:.0f} s under {status.policy}, "
        "while others run; choose another policy, as express"
        for line in status.classes
        if line.name in status.starved
    ]


def missed_targets(status: Status) -> list[str]:
    """Which targets are missed, by how much and since when; those missed by most of themselves come first."""
    missed = [line for line in status.queries if line.target is not None and line.target.missed_by is not None]
    missed.sort(key=lambda line: -(line.target.missed_by or 0.0) / line.target.target.seconds)  # type: ignore[union-attr]
    return [f"{line.name} misses its target {target_text(line.target, status.now)}" for line in missed if line.target]


def target_text(target: TargetStatus, now: float) -> str:
    """A target and how it is missed: what was reached, since when, how much of the time it was met."""
    reached = ""
    if target.reached is not None:
        found = duration(target.reached)
        reached = f": a tuple has waited for {found}" if target.overdue else f": {found} in the last 10 s"
    since = "" if target.since is None else f", since {math.floor(max(0.0, now - target.since))} s"
    share = "" if target.share is None else f", met {math.floor(100 * target.share)} % of the time"
    return f"{target.target}{reached}{since}{share}"


def source_failures(status: Status) -> list[str]:
    """Which sources were given up, and why."""
    return [f"the source of stream '{stream}' failed: {error}" for stream, error in status.source_errors.items()]


def stalled_queries(status: Status) -> list[str]:
    """Which queries commit nothing although tuples wait for them, those that are stalled for longest first."""
    found = sorted((-line.stalled, line.name) for line in status.queries if line.stalled is not None)
    return [stalled_alarm(name, -seconds) for seconds, name in found]


def _counts(status: Status) -> str:
    queries = len(status.queries)
    return f"{queries:,} {'query' if queries == 1 else 'queries'}: {counted_states(status.queries)}"


def _failures(status: Status, notes: list[str]) -> list[str]:
    """What has failed; a query says why it is suspended."""
    failures = source_failures(status)
    if status.spark_error:
        failures.append(f"Spark is away: {status.spark_error}")
    if status.spark_note:
        failures.append(status.spark_note)
    if status.policy_error:
        failures.append(f"the policy failed: {status.policy_error}")
    failures += disk_alarm(status.disk.full, status.disk.error)
    failures += stalled_queries(status)
    failures += starvation(status)
    failures += missed_targets(status)
    failures += [f"{line.name}: {line.error}" for line in status.queries if line.error]
    failures += notes[-1:]
    if len(failures) <= MOST_FAILURES:
        return failures
    return [*failures[: MOST_FAILURES - 1], f"… and {len(failures) - MOST_FAILURES + 1} more errors"]


def _running(status: Status) -> str:
    """What workers do: one line, however many there are."""
    return f"running now: {'; '.join(filter(None, status.doing)) or 'nothing'}"


def _line(text: str) -> Text:
    return Text(" ".join(text.split()), no_wrap=True, overflow="ellipsis")


def _is_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")


@contextmanager
def _stderr_to(log: Path) -> Iterator[TextIO]:
    """Let everything that goes to stderr, also from other languages, go to a file; gives what stderr was before."""
    sys.stderr.flush()
    descriptor = sys.stderr.fileno()
    before = os.dup(descriptor)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), descriptor)
        with open(os.dup(before), "w", encoding=sys.stderr.encoding, errors="replace") as terminal:
            yield terminal
    finally:
        sys.stderr.flush()
        os.dup2(before, descriptor)
        os.close(before)
