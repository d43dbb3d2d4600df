"""Tables that compare reports: a row per policy, a column per measure, the best value of each column marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from headgate.cli.number_format import aligned
from headgate.cli.tables import plain_table

if TYPE_CHECKING:
    from headgate.metrics import Report

BEST = "bold green"
MARK = "*"
_GAP = 2  # between two columns


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A column: the measure at a dotted path, under a heading of two lines."""

    path: str
    group: str
    name: str
    always: bool = True  # also where it is 0 or missing everywhere


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A measure's numbers as text, one per policy."""

    group: str
    name: str
    cells: tuple[str, ...]
    best: frozenset[int] = frozenset()  # rows

    def width(self) -> int:
        return _GAP + max(map(len, (self.group, self.name, *(f"{MARK}{cell}" for cell in self.cells))))


def measures(reports: Sequence[Report]) -> list[MeasureColumn]:
    """The measures that a table of reports shows; classes by falling priority."""
    classes = list(reports[0].classes) if reports else []
    per_class = [MeasureColumn(f"classes.{name}.response_time.mean", name, "mean") for name in classes]
    return [
        MeasureColumn("response_time.mean", "response", "mean"),
        MeasureColumn("response_time.p95", "response", "p95"),
        MeasureColumn("response_time.max", "response", "max"),
        MeasureColumn("slowdown.mean", "slowdown", "mean"),
        MeasureColumn("slowdown.max", "slowdown", "max"),
        MeasureColumn("slowdown.l2", "slowdown", "ℓ2"),
        *(per_class if len(classes) > 1 else []),
        MeasureColumn("qos.mean", "QoS", "mean", always=False),
        MeasureColumn("queue.tuples.max", "queue", "max"),
        MeasureColumn("inversion.cumulated", "inversion", "sum", always=False),
        MeasureColumn("scheduling.cancelled", "runs", "cancelled", always=False),
        *(
            MeasureColumn(f"overhead.{who}", "overhead", who, always=False)
            for who in ("worker", "storage", "scheduler")
        ),
        MeasureColumn("unfinished", "left", "waiting", always=False),
    ]


def by_measure(path: str) -> MeasureColumn:
    """The column of the measure that a comparison ranks by; of one class or query under its name.

    >>> column = by_measure("classes.critical.response_time.p95")
    >>> column.group, column.name
    ('critical', 'p95')
    """
    from headgate.metrics.report.measure_names import split

    _, whose, run_measure = split(path)
    if whose:
        return MeasureColumn(path, whose, run_measure.removeprefix("response_time.").replace(".", " "))
    group, _, name = path.rpartition(".")
    return MeasureColumn(path, group.replace("response_time", "response"), name)


def column(measure: MeasureColumn, reports: Sequence[Report]) -> TableColumn:
    """A measure's numbers; times share one unit, named in the heading."""
    from headgate.metrics import measure_at

    kind = measure_at(measure.path)
    values = [report.value(measure.path) for report in reports]
    unit, scale = kind.shown_unit(values) if kind.is_time else ("", 1.0)
    cells = aligned(values, scale)
    best = best_rows(values, cells, kind.smaller_is_better)
    return TableColumn(measure.group, f"{measure.name} {unit}".rstrip(), tuple(cells), best)


def best_rows(values: Sequence[float | None], cells: Sequence[str], smaller: bool) -> frozenset[int]:
    """The rows that hold the best value, those that read the same included; none where all read the same.

    >>> sorted(best_rows([2.0, 1.0, 1.0, None], ["2", "1", "1", "–"], smaller=True))
    [1, 2]
    """
    present = [value for value in values if value is not None]
    if not present or len(set(cells)) == 1:
        return frozenset()
    best = cells[values.index(min(present) if smaller else max(present))]
    return frozenset(row for row, cell in enumerate(cells) if cell == best)


def report_tables(reports: Mapping[str, Report], width: int, by: str | None = None) -> Iterator[Table]:
    """One table if the width allows, else as few as hold all columns; ranked by a measure if one is given."""
    rows = list(reports.values())
    shown = [column(measure, rows) for measure in _chosen(rows, by)]
    digits = len(str(len(rows)))
    names = [f"{place:{digits}}. {policy}" if by else policy for place, policy in enumerate(reports, 1)]
    room = min(max(map(len, ["policy", *names])), max(16, width // 3))
    for part in pack(shown, width - room):
        yield _table(names, part, room)


def pack(columns: Sequence[TableColumn], width: int) -> list[list[TableColumn]]:
    """Cut the columns into tables that fit, in their order; a group is named above its first column only."""
    parts: list[list[TableColumn]] = []
    group = ""
    for column in columns:
        following = replace(column, group="") if column.group == group else column
        if parts and sum(placed.width() for placed in parts[-1]) + following.width() <= width:
            parts[-1].append(following)
        else:
            parts.append([column])
        group = column.group
    return parts


def marked(reports: Mapping[str, Report], by: str | None = None) -> bool:
    """Whether any column marks its best."""
    rows = list(reports.values())
    return any(column(measure, rows).best for measure in _chosen(rows, by))


def _chosen(rows: Sequence[Report], by: str | None) -> list[MeasureColumn]:
    usual = [
        measure
        for measure in measures(rows)
        if measure.path != by and (measure.always or any(report.value(measure.path) for report in rows))
    ]
    return [by_measure(by), *usual] if by else usual


def _table(policies: Sequence[str], columns: Sequence[TableColumn], room: int) -> Table:
    """One table; a policy's settings wrap where they would take too much room."""
    table = plain_table("policy")
    table.columns[0].width = room
    for column in columns:
        table.add_column(Text(f"{column.group}\n{column.name}"), justify="right", no_wrap=True)
    for row, policy in enumerate(policies):
        table.add_row(Text(policy), *(_cell(column, row) for column in columns))
    return table


def _cell(column: TableColumn, row: int) -> Text:
    return Text(MARK + column.cells[row], BEST) if row in column.best else Text(column.cells[row])
