"""`headgate explain DIR --stage costs`: the costs measured by a run on Spark."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from headgate.cli.console import show, show_json
from headgate.model import HeadgateError, unknown
from headgate.model.number_text import significant
from headgate.plan.explain import duration


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
    rates = ", ".join(f"{stream} {significant(rate, 3)}/s" for stream, rate in costs.rates.items()) or "none"
    train = significant(costs.train, 3)
    head = f"a run costs {duration(costs.run_overhead)} whatever it takes, on average {train} tuples"
    show(Text(head), Text(f"under {costs.policy}; rates: {rates}"), "", table)
