"""`headgate fresh simulate`: a mirror's users under some plan, access by access."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headgate.cli import options
from headgate.cli.console import examples, show, show_json
from headgate.cli.fresh import element_options
from headgate.cli.number_format import number
from headgate.cli.tables import plain_table
from headgate.freshness.column_names import ColumnNames

if TYPE_CHECKING:
    from headgate.freshness.elements import Elements

EXAMPLES = examples(
    "fresh simulate pages.csv --bandwidth 1000",
    "fresh simulate pages.csv -b 1000 --periods 500 --seed 7 --json",
)
DEFAULTS = ColumnNames()

Periods = Annotated[float, typer.Option("--periods", help="How long to watch, in periods.", metavar="N")]
Accesses = Annotated[float, typer.Option("--accesses", help="Accesses per period.", metavar="N")]
Seed = Annotated[int, typer.Option("--seed", help="Of the changes and accesses.", metavar="N")]


def simulate(
    elements: element_options.Table,
    bandwidth: element_options.Bandwidth,
    periods: Periods = 100.0,
    accesses: Accesses = 1000.0,
    seed: Seed = 1,
    as_json: options.AsJson = False,
    min_freshness: element_options.MinFreshness = None,
    id: element_options.IdColumn = DEFAULTS.id,
    change_rate: element_options.RateColumn = DEFAULTS.change_rate,
    access: element_options.AccessColumn = DEFAULTS.access,
    size: element_options.SizeColumn = DEFAULTS.size,
    floor: element_options.FloorColumn = DEFAULTS.min_freshness,
    now: element_options.NowColumn = DEFAULTS.frequency,
) -> None:
    """Watch a mirror under the plan, under the plan without profile (GF), and as it is refreshed now.

    Changes and accesses are Poisson; the share of accesses that find a fresh copy is shown beside the formula's.
    """
    from headgate.freshness.exact import even_frequency, freshness_at, general_plan, plan
    from headgate.freshness.mirror import observe

    options.check_seed(seed)
    columns = ColumnNames(id, change_rate, access, size, floor, now)
    table = element_options.listed(elements, columns, min_freshness)
    mirrored = table.elements
    plans = {
        "plan": plan(mirrored, bandwidth).frequency,
        "general": general_plan(mirrored, bandwidth).frequency,
        "now": even_frequency(mirrored, bandwidth) if table.frequency is None else table.frequency,
    }
    rows = {}
    for name, frequency in plans.items():
        seen = observe(mirrored, frequency, periods=periods, accesses=accesses, seed=seed)
        formula = float(mirrored.access @ freshness_at(mirrored.change_rate, frequency))
        rows[name] = {
            "formula": formula,
            "measured": seen.perceived_freshness,
            "half_width": seen.half_width,
            "accesses": seen.accesses,
            "refreshes": seen.refreshes,
        }
    if as_json:
        show_json({"periods": periods, "seed": seed, "plans": rows})
    else:
        _show(mirrored, bandwidth, periods, rows)


def _show(mirrored: Elements, bandwidth: float, periods: float, rows: dict[str, dict[str, float]]) -> None:
    show(Text(f"{len(mirrored):,} elements, bandwidth {number(bandwidth)}, {number(periods)} periods", "bold"), "")
    table = plain_table("perceived freshness", "formula", "measured", "95 %", "accesses", "refreshes")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, row in rows.items():
        numbers = (f"{row['formula']:.4f}", f"{row['measured']:.4f}", f"± {row['half_width']:.4f}")
        table.add_row(name, *numbers, f"{row['accesses']:,}", f"{row['refreshes']:,}")
    show(table)
