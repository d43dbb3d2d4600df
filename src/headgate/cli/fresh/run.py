"""`headgate fresh run`: keep copies of real documents, within a bandwidth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headgate.cli import options
from headgate.cli.console import examples, note, show, show_json
from headgate.cli.fresh import element_options
from headgate.cli.number_format import read_duration
from headgate.cli.signals import exit_code, raised
from headgate.cli.tables import plain_table
from headgate.freshness.column_names import ColumnNames
from headgate.model.number_text import duration, significant

if TYPE_CHECKING:
    from headgate.freshness.refresher.loop import VisitTally
    from headgate.freshness.refresher.store import Store, Visited

EXAMPLES = examples(
    'fresh run pages.csv --bandwidth 1000 --period "1 h" --dir mirror',
    'fresh run pages.csv -b 60 --period "1 min" --for "10 min" --dir mirror',
    'fresh run keys.csv -b 10 --period "1 s" --source shop.stock:level --dir mirror',
)
ROWS = 20

Period = Annotated[str, typer.Option("--period", help='What a period is, as "1 h".', metavar="TIME")]
For = Annotated[str, typer.Option("--for", help='How long to go on, as "10 min".', metavar="TIME")]
Directory = Annotated[Path, typer.Option("--dir", help="Where copies and visits are kept.", metavar="DIR")]
FromFunction = Annotated[
    str | None,
    typer.Option(
        "--source", help="A Python function of the key, as module:name.", show_default=False, metavar="FUNCTION"
    ),
]
Replan = Annotated[float, typer.Option("--replan", help="Periods between two plans.", metavar="N")]


def run(
    elements: element_options.Table,
    bandwidth: element_options.Bandwidth,
    directory: Directory = Path("mirror"),
    period: Period = "1 h",
    length: For = "1 h",
    replan: Replan = 1.0,
    source: FromFunction = None,
    as_json: options.AsJson = False,
    min_freshness: element_options.MinFreshness = None,
) -> None:
    """Refresh copies as the plan says, learn how often they change, and plan anew.

    Keys are URLs, asked for with If-None-Match and If-Modified-Since, or arguments of a Python function. Copies are in
    DIR/copies. A run in the same directory goes on where the last one ended, also after a crash; Ctrl-C ends it.
    """
    from headgate.freshness.refresher.loop import Refresher
    from headgate.freshness.refresher.sources import FunctionSource, HttpSource
    from headgate.freshness.refresher.store import Store

    period_seconds, run_seconds = read_duration(period, "--period"), read_duration(length, "--for")
    document_source = HttpSource() if source is None else FunctionSource.named(source)
    mirrored = element_options.listed(elements, ColumnNames(), min_freshness).elements
    store = Store(directory)
    try:
        store.enter(mirrored)
        refresher = Refresher(store, document_source, bandwidth, period=period_seconds, replan=replan)
        note(f"refreshing {len(mirrored):,} elements for {duration(run_seconds)}, copies in {store.copies}")
        interrupted = False
        try:
            with raised():
                refresher.run(run_seconds / period_seconds, _failure_notes(store))
        except KeyboardInterrupt:
            interrupted = True
            note("headgate: interrupted; the same command goes on")
        _show(store, refresher.tally, as_json)
    finally:
        store.close()
    if interrupted:
        raise typer.Exit(exit_code())


def _failure_notes(store: Store) -> Callable[[Visited], None]:
    """A callback that notes failed visits on stderr as they happen."""
    keys = store.keys()

    def note_failure(visit: Visited) -> None:
        if visit.error:
            note(f"{keys[visit.number]}: {visit.error}")

    return note_failure


def _show(store: Store, tally: VisitTally, as_json: bool) -> None:
    counts = {kind: tally.visits[kind] for kind in ("changed", "same", "failed")}
    learned = store.learned()
    keys = store.keys()
    if as_json:
        rates = dict(zip(keys, learned.change_rate.tolist(), strict=True))
        show_json({"visits": counts, "plans": tally.plans, "change_rate": rates})
        return
    show(Text(f"{sum(counts.values()):,} visits, {tally.plans:,} plans", "bold"))
    show(", ".join(f"{count:,} {kind}" for kind, count in counts.items()), "")
    table = plain_table("id", "changes per period")
    table.columns[1].justify = "right"
    for key, rate in list(zip(keys, learned.change_rate, strict=True))[:ROWS]:
        table.add_row(Text(key), significant(rate))
    show(table)
