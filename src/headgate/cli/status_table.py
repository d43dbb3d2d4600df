"""The table of `headgate run`: totals, classes, and the queries by urgency, in as many columns as the terminal has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from headgate.cli.number_format import NOTHING
from headgate.cli.urgency import by_urgency, counted_states, shown_state

if TYPE_CHECKING:
    from headgate.spark.status import Status, StatusLine

NARROWEST_NAME = 16  # characters of names that no further column may take away
WIDE = 80  # characters from which on two spaces separate columns
HEADING = 4  # lines, that between sums and queries included
STATES = {
    "suspended": "red",
    "incomplete": "red",
    "stalled": "red",
    "late": "yellow",
    "waiting": "yellow",
    "paused": "dim",
    "done": "dim",
}  # their styles


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading with the unit, what it shows of a line, and how soon it gives way in a narrow terminal."""

    heading: str
    cell: Callable[[StatusLine], str]
    rank: int  # the lower, the longer it stays
    group: tuple[str, ...] = ("",)  # the heading above it and its neighbours: the first that fits
    left: bool = False


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.2f}"


def _missed(line: StatusLine) -> str:
    return NOTHING if line.quality.missed is None else _count(line.quality.missed)


def _target(line: StatusLine) -> str:
    """A query's target is met or missed; of a class, how many of its queries' are met."""
    if line.target is not None:
        return line.target.state.value
    if line.targets.met is None or line.targets.missed is None:
        return NOTHING
    return f"{line.targets.met:,} of {line.targets.met + line.targets.missed:,}"


def _share_met(line: StatusLine) -> str:
    share = line.targets.share if line.target is None else line.target.share
    return NOTHING if share is None else f"{math.floor(100 * share)}"


def _p95(line: StatusLine, window: str) -> str:
    return _seconds(line.latency[window].p95) if window in line.latency else NOTHING


LATELY = ("latency, last 10 s", "latency 10 s", "10 s")
WHOLE = ("latency, whole run", "latency all", "all")
MINUTES = ("p95 s of", "p95", "")
TARGETS = (
    Column("target", _target, 2, left=True),
    Column("met %", _share_met, 3),
)
MISSED = Column("missed", _missed, 4)
DEAD = Column("dead", lambda line: _count(line.dead_letters), 1)
COLUMNS = (
    Column("class", lambda line: line.query_class, 10, left=True),
    Column("prio", lambda line: f"{line.priority:g}", 5),
    Column("state", shown_state, 0, left=True),
    Column("in/s", lambda line: _count(line.rate), 0),
    Column("waiting", lambda line: _count(line.waiting), 0),
    Column("wait s", lambda line: _seconds(line.oldest_wait or None), 0),
    Column("p50 s", lambda line: _seconds(line.recent.p50), 7, LATELY),
    Column("p95 s", lambda line: _seconds(line.recent.p95), 0, LATELY),
    Column("1 min", lambda line: _p95(line, "last_minute"), 8, MINUTES),
    Column("10 min", lambda line: _p95(line, "last_10_minutes"), 9, MINUTES),
    Column("p50 s", lambda line: _seconds(line.response_time.p50), 12, WHOLE),
    Column("p95 s", lambda line: _seconds(line.response_time.p95), 6, WHOLE),
    *TARGETS,
    MISSED,
    Column("taken", lambda line: _count(line.tuples_in), 13),
    Column("results", lambda line: _count(line.tuples_out), 11),
    DEAD,
)
_NOT_OF_SUMS = ("class", "state")


@dataclass(frozen=True, slots=True)
class _Row:
    """A name, and a text for each column."""

    name: str
    cells: tuple[str, ...]
    style: str = ""


def status_table(status: Status, width: int, height: int | None = None) -> list[Text]:
    """The lines of the table, each at most `width` characters; with a height, at most that many lines.

    First come the sums, of all queries and of each class; then the queries, the most urgent first, and in one line
    those for which there is no room. The columns are those that fit.
    """
    queries, sums = by_urgency(status.queries), _sums(status)
    room = len(queries) + len(sums)
    if height is not None:
        sums = _shortened(sums, max(1, (height - HEADING) // 2))
        room = max(0, height - HEADING - len(sums))
    shown = queries if len(queries) <= room else queries[: max(0, room - 1)]
    rows = [*sums, *(_Row(line.name, _cells(line), STATES.get(shown_state(line), "")) for line in shown)]
    lines = _lines(rows, _columns(status), width)
    lines.insert(HEADING - 1 + len(sums), _cut("┄" * len(lines[2]), width, "dim"))
    if rest := queries[len(shown) :]:
        lines.append(_cut(f"… and {len(rest):,} more: {counted_states(rest)}", width))
    return lines[:height]


def judged(status: Status, equal_inverts: bool = False) -> str:
    """Classes whose median result came later than that of a less important class; empty if there is one class.

    With `equal_inverts`, also those whose median result came just as late.
    """
    if not status.inversion:
        return ""
    inverted = [f"{pair.above} after {pair.below}" for pair in status.inversion if pair.is_inverted(equal_inverts)]
    return f"inverted: {', '.join(inverted)}" if inverted else "no class inverted"


# -- rows ----------------------------------------------------------------------------------------------------------


def _sums(status: Status) -> list[_Row]:
    """All together, the classes by falling priority, and the dead letters that no query has."""
    rows = [_Row("all", _cells(status.total(), *_NOT_OF_SUMS, "prio"), "bold")]
    rows += [_Row(line.name, _cells(line, *_NOT_OF_SUMS), "bold") for line in status.classes]
    if letters := status.letters_of_streams:
        rows.append(_Row("streams", tuple(_count(letters) if column is DEAD else "" for column in COLUMNS), "bold"))
    return rows


def _cells(line: StatusLine, *without: str) -> tuple[str, ...]:
    return tuple("" if column.heading in without else column.cell(line) for column in COLUMNS)


def _shortened(rows: list[_Row], most: int) -> list[_Row]:
    """At most so many rows; the last one says how many were left out."""
    if len(rows) <= most:
        return rows
    left_out = len(rows) - most + 1
    return [*rows[: most - 1], _Row(f"… and {left_out} more classes", ("",) * len(COLUMNS), "bold")]


# -- columns -------------------------------------------------------------------------------------------------------


def _columns(status: Status) -> list[int]:
    """The numbers of the columns that have something to say."""
    has_deadlines = any(line.quality.missed is not None for line in status.queries)
    has_targets = any(line.target is not None for line in status.queries)
    hidden = (() if has_deadlines else (MISSED,)) + (() if has_targets else TARGETS)
    return [number for number, column in enumerate(COLUMNS) if column not in hidden]


def _lines(rows: Sequence[_Row], columns: Sequence[int], width: int) -> list[Text]:
    """The heading and the rows, in the columns that fit."""
    gap = 2 if width >= WIDE else 1
    widths = {
        number: max([len(COLUMNS[number].heading), *(len(row.cells[number]) for row in rows)]) for number in columns
    }
    longest = max(len("query"), *(len(row.name) for row in rows))
    chosen = _fitting(widths, min(longest, NARROWEST_NAME), gap, width)
    name = min(longest, max(1, width - sum(widths[number] + gap for number in chosen)))

    def line(first: str, cells: Callable[[int], str]) -> str:
        texts = [_without_middle(first, name).ljust(name)]
        for number in chosen:
            align = str.ljust if COLUMNS[number].left else str.rjust
            texts.append(align(cells(number), widths[number]))
        return (" " * gap).join(texts)

    above = " " * name + "".join(_group_headings(chosen, widths, gap))
    heading = line("query", lambda number: COLUMNS[number].heading)
    headings = [_cut(above, width, "bold"), _cut(heading, width, "bold"), _cut("─" * len(heading), width)]
    return [*headings, *(_cut(line(row.name, lambda n, row=row: row.cells[n]), width, row.style) for row in rows)]  # type: ignore[misc]


def _fitting(widths: dict[int, int], name: int, gap: int, width: int) -> list[int]:
    """The columns that fit beside the name, by their rank: the first one that does not fit ends the choice."""
    chosen: list[int] = []
    for number in sorted(widths, key=lambda number: COLUMNS[number].rank):
        if name + sum(widths[other] + gap for other in [*chosen, number]) > width:
            break
        chosen.append(number)
    return sorted(chosen)


def _group_headings(chosen: Sequence[int], widths: dict[int, int], gap: int) -> Iterator[str]:
    """What stands above neighbouring columns of one group, right above them."""
    for group, numbers in groupby(chosen, key=lambda number: COLUMNS[number].group):
        room = sum(widths[number] + gap for number in numbers)
        yield next((text for text in group if len(text) < room), "").rjust(room)


def _without_middle(name: str, width: int) -> str:
    """A name that is too long without its middle: often names begin alike and differ at their end.

    >>> _without_middle("temperature-of-boiler-12", 12)
    'temper…er-12'
    """
    if len(name) <= width:
        return name
    end = (width - 1) // 2
    return f"{name[: width - 1 - end]}…{name[len(name) - end :]}"


def _shorter(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _cut(text: str, width: int, style: str = "") -> Text:
    return Text(_shorter(text, width), style, no_wrap=True, overflow="ellipsis")
