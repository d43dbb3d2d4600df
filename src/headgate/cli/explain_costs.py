"""`headgate explain DIR --stage costs`: the costs measured by a run on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from headgate.cli.console import show, show_json
from headgate.model import HeadgateError, unknown
from headgate.model.number_text import significant
from headgate.plan.explain import duration

if TYPE_CHECKING:
    from headgate.spark.store.costs import Costs, QueryCost


def explain(directory: Path, query: str | None, *, as_json: bool) -> None:
    """Print the measured costs of a data directory."""
    from headgate.spark.store.costs import Costs

    if not directory.is_dir():
        raise HeadgateError(
            f"--stage costs needs the data directory of a run, found '{directory}'", hint="write for example out/plant"
        )
    costs = Costs.load(directory)
    if query is not None and query not in costs.queries:
        raise unknown("query", query, costs.queries)
    shown = {name: cost for name, cost in costs.queries.items() if query in (None, name)}
    if as_json:
        show_json({**asdict(costs), "queries": {name: asdict(cost) for name, cost in shown.items()}})
        return
    rates = ", ".join(f"{stream} {significant(rate, 3)}/s" for stream, rate in costs.rates.items()) or "none"
    parts: list[Any] = [Text(_headline(costs)), Text(f"under {costs.policy}; rates: {rates}")]
    if costs.units:
        parts += ["", Text("fitted to the latest runs, ± the standard error:"), _units(costs)]
    parts += ["", Text("what policies decide by:"), _queries(shown)]
    show(*parts)


def _headline(costs: Costs) -> str:
    train = significant(costs.train, 3)
    lines = [f"a job costs {duration(costs.run_overhead)} whatever it does; a run takes {train} tuples on average"]
    if costs.error is not None:
        lines.append(f"the time of a run is predicted with an error of {costs.error:.0%} (median of the latest runs)")
    if costs.crowding:
        lines.append(f"beside another run it takes {costs.crowding:.0%} longer")
    if costs.cancelled_runs:
        share = f"{costs.cancelled_share:.1%} of the time of all runs"
        lines.append(f"{costs.cancelled_runs:,} runs gave way to something more important: {share}")
    return "\n".join(lines)


def _units(costs: Costs) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("unit", "class", "per job", "per tuple", "per tuple read", "per result", "error", "runs"):
        table.add_column(heading, justify="left" if heading in ("unit", "class") else "right")
    for name, unit in costs.units.items():
        fitted = (unit.per_job, unit.per_taken, unit.per_read, unit.per_result)
        numbers = [f"{duration(value)} ± {duration(spread)}" for value, spread in fitted]
        error = "–" if unit.error is None else f"{unit.error:.0%}"
        table.add_row(name, unit.query_class, *numbers, error, f"{unit.runs:,}")
    return table


def _queries(shown: Mapping[str, QueryCost]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("query", "class", "per tuple", "per run", "selectivity", "runs", "tuples"):
        table.add_column(heading, justify="left" if heading in ("query", "class") else "right")
    for name, cost in sorted(shown.items(), key=lambda item: -item[1].cost):
        selectivity = "–" if cost.selectivity is None else significant(cost.selectivity, 3)
        table.add_row(
            name,
            cost.query_class,
            duration(cost.cost),
            duration(cost.overhead),
            selectivity,
            f"{cost.runs:,}",
            f"{cost.tuples_in:,}",
        )
    return table
