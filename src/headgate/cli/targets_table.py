"""How much of the time targets were met in simulations: a row per class and query, a column per policy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from headgate.cli.number_format import NOTHING
from headgate.cli.tables import plain_table
from headgate.model import effective_target

if TYPE_CHECKING:
    from headgate.metrics import Report
    from headgate.workload import Workload

MOST_QUERIES = 20  # rows; --json has all
MOST_POLICIES = 6  # columns; more are ranked by `--by targets.share`


def targets_table(workload: Workload, reports: Mapping[str, Report]) -> Table | None:
    """The classes, and below each its queries with a target; None if no target was given, or for too many policies.

    Whoever gave QoS graphs only has their measures, and does not look for targets.
    """
    given = [*(query.target for query in workload.queries), *(one.target for one in workload.classes)]
    if not any(given) or len(reports) > MOST_POLICIES:
        return None
    rows = list(_rows(workload, reports))
    table = plain_table("", "target")
    for policy in reports:
        table.add_column(Text(policy), justify="right")
    for name, target, shares in rows:
        table.add_row(Text(name), Text(target), *map(Text, shares))
    return table


def _rows(workload: Workload, reports: Mapping[str, Report]) -> Iterator[tuple[str, str, list[str]]]:
    left = MOST_QUERIES
    for query_class in workload.classes:
        wanted = {
            query.name: target
            for query in workload.queries
            if query.query_class == query_class.name and (target := effective_target(query, query_class)) is not None
        }
        if not wanted:
            continue
        of_class = "" if query_class.target is None else str(query_class.target)
        yield (
            query_class.name,
            of_class,
            [_percent(report, f"classes.{query_class.name}") for report in reports.values()],
        )
        shown = list(wanted)[:left]
        for name in shown:
            yield f"  {name}", str(wanted[name]), [_percent(report, f"queries.{name}") for report in reports.values()]
        left -= len(shown)
        if len(shown) < len(wanted):
            yield f"  … and {len(wanted) - len(shown):,} more", "", [""] * len(reports)


def _percent(report: Report, of: str) -> str:
    share = report.value(f"{of}.targets.share")
    return NOTHING if share is None else f"{math.floor(100 * share)} %"  # 99.9 % is not all of the time
