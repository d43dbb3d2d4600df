"""`headgate fresh plan`: how often to refresh which copy of a mirror."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headgate.cli import options
from headgate.cli.console import examples, note, show, show_json
from headgate.cli.fresh import element_options, plan_on_spark
from headgate.cli.number_format import NOTHING, number
from headgate.cli.tables import plain_table
from headgate.freshness.column_names import FORMATS, ColumnNames
from headgate.model import HeadgateError
from headgate.model.number_text import significant

if TYPE_CHECKING:
    from headgate.freshness.summary import Summary

EXAMPLES = examples(
    "fresh plan pages.parquet --bandwidth 250000 --out plan.parquet",
    "fresh plan pages.csv -b 1000 --min-freshness 0.2 --plot plan.png",
    "fresh plan pages.csv -b 1000 --access hits --json",
    "fresh plan db.pages -b 250000 --spark 'local[2]' --out plan",
)

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Write id, frequency, freshness: .parquet or .csv.", show_default=False),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", help="Draw freshness and allocation: .png, .svg or .pdf.", show_default=False),
]
OnSpark = Annotated[
    str | None,
    typer.Option(
        "--spark",
        help="Plan on this Spark master, as local[2]; ELEMENTS may be a folder or a table, --out is a folder.",
        show_default=False,
        metavar="MASTER",
    ),
]
DEFAULTS = ColumnNames()


def plan_command(
    elements: element_options.Table,
    bandwidth: element_options.Bandwidth,
    out: Out = None,
    as_json: options.AsJson = False,
    plot: Plot = None,
    min_freshness: element_options.MinFreshness = None,
    spark: OnSpark = None,
    id: element_options.IdColumn = DEFAULTS.id,
    change_rate: element_options.RateColumn = DEFAULTS.change_rate,
    access: element_options.AccessColumn = DEFAULTS.access,
    size: element_options.SizeColumn = DEFAULTS.size,
    floor: element_options.FloorColumn = DEFAULTS.min_freshness,
    now: element_options.NowColumn = DEFAULTS.frequency,
) -> None:
    """Plan the refreshes that maximize perceived freshness, exactly, within a bandwidth.

    Perceived freshness is the share of accesses that find an up-to-date copy. Elements that never change need no
    refresh; elements that nobody wants get none, unless a floor asks for some.
    """
    from headgate.freshness.exact import check_bandwidth, plan
    from headgate.freshness.summary import summarize

    check_bandwidth(bandwidth)
    columns = ColumnNames(id, change_rate, access, size, floor, now)
    if spark is not None:
        if plot is not None:
            raise HeadgateError("--plot and --spark are both given", hint="draw a sample of the elements")
        plan_on_spark.plan(spark, elements, bandwidth, columns, out, min_freshness, as_json)
        return
    options.check_output(out, "--out", FORMATS)
    options.check_plot(plot)
    table = element_options.listed(elements, columns, min_freshness)
    refresh_plan = plan(table.elements, bandwidth)
    summary = summarize(refresh_plan, bandwidth, table.frequency)
    if as_json:
        show_json(summary.to_json())
    else:
        show_summary(summary)
    if out is not None:
        from headgate.freshness.tables import write_table

        rows = {"id": table.elements.ids, "frequency": refresh_plan.frequency, "freshness": refresh_plan.freshness}
        write_table(rows, out)
        note(f"wrote {out}")
    if plot is not None:
        from headgate.freshness.picture import draw

        draw(refresh_plan, bandwidth, plot)
        note(f"wrote {plot}")


def show_summary(summary: Summary) -> None:
    """A plan in numbers, as people read them."""
    show(Text(f"{summary.elements:,} elements, bandwidth {number(summary.bandwidth)} per period", "bold"), "")
    table = plain_table("perceived freshness", "", "")
    table.columns[1].justify = "right"
    rows: list[tuple[str, float | None, str]] = [
        ("now", summary.now, "every element equally often" if summary.now_is_even else "as the table says"),
        ("profile ignored (GF)", summary.general, "the best for average freshness"),
        ("plan", summary.perceived_freshness, "the optimum"),
        ("10 % less bandwidth", summary.less, ""),
        ("10 % more bandwidth", summary.more, ""),
    ]
    for name, value, remark in rows:
        table.add_row(name, NOTHING if value is None else f"{value:.4f}", remark)
    show(table, "")
    show(
        f"{summary.unrefreshed:,} elements that change and are wanted get no refresh.",
        f"One more unit of bandwidth would give {significant(summary.multiplier, 3)}.",
        f"The optimality conditions hold to {summary.violation:.0e}; {summary.used / summary.bandwidth:.0%} of the "
        "bandwidth is used.",
    )
