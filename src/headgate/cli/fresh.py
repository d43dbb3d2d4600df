"""`headgate fresh`: which copies of a mirror to refresh how often."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headgate.cli import fresh_options, fresh_run, fresh_simulate, fresh_spark, fresh_timetable, options
from headgate.cli.console import examples, note, show, show_json
from headgate.cli.tables import plain_table
from headgate.cli.units import NOTHING, number
from headgate.freshness.columns import FORMATS, Columns
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from headgate.freshness.summary import Summary

EXAMPLES = examples(
    "fresh plan pages.csv --bandwidth 1000 --out plan.csv",
    "fresh simulate pages.csv --bandwidth 1000 --periods 200",
    "fresh timetable pages.csv --bandwidth 1000 --out timetable.csv",
    'fresh run pages.csv --bandwidth 1000 --period "1 h" --dir mirror',
)
PLAN_EXAMPLES = examples(
    "fresh plan pages.parquet --bandwidth 250000 --out plan.parquet",
    "fresh plan pages.csv -b 1000 --min-freshness 0.2 --plot plan.png",
    "fresh plan pages.csv -b 1000 --access hits --json",
    "fresh plan db.pages -b 250000 --spark 'local[2]' --out plan",
)

app = typer.Typer(no_args_is_help=True, epilog=EXAMPLES)
app.command("simulate", epilog=fresh_simulate.EXAMPLES)(fresh_simulate.simulate)
app.command("timetable", epilog=fresh_timetable.EXAMPLES)(fresh_timetable.timetable)
app.command("run", epilog=fresh_run.EXAMPLES)(fresh_run.run)

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
ROOM = Columns()


@app.callback()
def front() -> None:
    """Data freshening: plan, simulate and follow the refreshes of a mirror's copies."""


@app.command("plan", epilog=PLAN_EXAMPLES)
def plan_command(
    elements: fresh_options.Table,
    bandwidth: fresh_options.Bandwidth,
    out: Out = None,
    as_json: options.AsJson = False,
    plot: Plot = None,
    min_freshness: fresh_options.MinFreshness = None,
    spark: OnSpark = None,
    id: fresh_options.IdColumn = ROOM.id,
    change_rate: fresh_options.RateColumn = ROOM.change_rate,
    access: fresh_options.AccessColumn = ROOM.access,
    size: fresh_options.SizeColumn = ROOM.size,
    floor: fresh_options.FloorColumn = ROOM.min_freshness,
    now: fresh_options.NowColumn = ROOM.frequency,
) -> None:
    """Plan the refreshes that maximize perceived freshness, exactly, within a bandwidth.

    Perceived freshness is the share of accesses that find an up-to-date copy. Elements that never change need no
    refresh; elements that nobody wants get none, unless a floor asks for some.
    """
    from headgate.freshness.exact import check_bandwidth, plan
    from headgate.freshness.summary import summarize

    check_bandwidth(bandwidth)
    columns = Columns(id, change_rate, access, size, floor, now)
    if spark is not None:
        if plot is not None:
            raise HeadgateError("--plot and --spark are both given", hint="draw a sample of the elements")
        fresh_spark.plan(spark, elements, bandwidth, columns, out, min_freshness, as_json)
        return
    options.check_output(out, "--out", FORMATS)
    options.check_plot(plot)
    table = fresh_options.listed(elements, columns, min_freshness)
    found = plan(table.elements, bandwidth)
    summary = summarize(found, bandwidth, table.frequency)
    if as_json:
        show_json(summary.to_json())
    else:
        show_summary(summary)
    if out is not None:
        from headgate.freshness.tables import write_table

        rows = {"id": table.elements.ids, "frequency": found.frequency, "freshness": found.freshness}
        write_table(rows, out)
        note(f"wrote {out}")
    if plot is not None:
        from headgate.freshness.picture import draw

        draw(found, bandwidth, plot)
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
        f"One more unit of bandwidth would give {summary.multiplier:.3g}.",
        f"The optimality conditions hold to {summary.violation:.0e}; {summary.used / summary.bandwidth:.0%} of the "
        "bandwidth is used.",
    )
