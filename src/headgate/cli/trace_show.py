"""`headgate trace show`: what ran and who waited, as tables or as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from headgate.cli import options
from headgate.cli.console import examples, note, show, show_json
from headgate.cli.help_texts import ReadableCommand, ReadableGroup
from headgate.cli.history_source import FilePolicies, Source, load_given, read_source
from headgate.cli.number_format import NOTHING, read_moment
from headgate.cli.tables import plain_table
from headgate.cli.why_output import moment
from headgate.insight.text import stretch_text, unfinished_text
from headgate.model import HeadgateError
from headgate.model.number_text import duration

if TYPE_CHECKING:
    from headgate.history.records import RunRecord
    from headgate.insight.attribution import InvertedPair
    from headgate.insight.parts import MeanParts
    from headgate.insight.why import Explainer, Explanation

EXAMPLES = examples(
    "trace show out/plant",
    "trace show out/plant --plot timeline.png",
    'trace show t.jsonl --from "1 s" --to "1.5 s" --plot timeline.png',
)
MOST_WAITS = 10

app = typer.Typer(cls=ReadableGroup, no_args_is_help=True, epilog=EXAMPLES, help="Look at what a scheduler has done.")

Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", help="Draw a timeline to this file: .png, .svg or .pdf.", show_default=False, metavar="FILE"
    ),
]
Since = Annotated[
    str | None,
    typer.Option("--from", help="What ran from then on, counted from the start.", show_default=False, metavar="TIME"),
]
Upto = Annotated[str | None, typer.Option("--to", help="What ran until then.", show_default=False, metavar="TIME")]


@app.callback()
def trace() -> None:
    """Look at what a scheduler has done."""


@app.command("show", cls=ReadableCommand, epilog=EXAMPLES)
def show_trace(
    source: Source,
    plot: Plot = None,
    since: Since = None,
    upto: Upto = None,
    policy: FilePolicies = None,
    as_json: options.AsJson = False,
) -> None:
    """Show where the time of results went, the longest waits, and who delayed whom; with --plot as a timeline.

    A timeline has a row per worker with its runs, coloured by class, and below it the waits of queries. It shows the
    newest runs that fit, unless --from and --to say which.
    """
    from headgate.insight.picture import draw_timeline, usual_stretch
    from headgate.insight.why import Explainer

    options.check_plot(plot)
    explainer = Explainer(read_source(source, load_given(policy or ())))
    stretch = _stretch(explainer, source, since, upto)
    if plot is not None:
        if since is None and upto is None:
            stretch = usual_stretch(explainer)
        draw_timeline(explainer, plot, *stretch)
        note(f"wrote {plot}")
        return
    _show(explainer, stretch, as_json)


def _stretch(explainer: Explainer, source: Path, since: str | None, upto: str | None) -> tuple[float, float]:
    """From when to when is asked for, on the driver's clock."""
    history = explainer.history
    first = history.began if since is None else history.origin + read_moment(since, "--from")
    last = history.now if upto is None else history.origin + read_moment(upto, "--to")
    if first >= last or first > history.now or last < history.began:
        begins, ends = max(0.0, history.began - history.origin), history.now - history.origin
        raise HeadgateError(
            "nothing was recorded between --from and --to",
            where=str(source),
            hint=f"the record is from {begins:.4g} s to {ends:.4g} s",
        )
    return first, last


def _show(explainer: Explainer, stretch: tuple[float, float], as_json: bool) -> None:
    from headgate.insight.attribution import inverted_pairs
    from headgate.insight.json_trees import explanation_tree, run_tree
    from headgate.insight.parts import by_class, by_query, within

    history, origin = explainer.history, explainer.history.origin
    chosen = within(history, *stretch)
    pairs = inverted_pairs(explainer, *stretch, when=stretch_text(None, stretch[1] - stretch[0]))
    waits = _longest(explainer, stretch)
    classes, queries = by_class(chosen, explainer.classes.of), by_query(chosen)
    if as_json:
        show_json(
            {
                "from": stretch[0] - origin,
                "to": stretch[1] - origin,
                "runs": len(chosen.runs),
                "under_way": [run_tree(run, origin) for run in _under_way(explainer, stretch)],
                "classes": {name: _tree(parts) for name, parts in classes.items()},
                "queries": {name: _tree(parts) for name, parts in queries.items()},
                "waits": [explanation_tree(told, origin) for told in waits],
                "inversions": [pair.summary for pair in pairs],
            }
        )
        return
    policy = history.header.get("policy", NOTHING)
    begins, ends = max(0.0, stretch[0] - origin), stretch[1] - origin
    ran = f"{len(chosen.runs):,} run{'' if len(chosen.runs) == 1 else 's'}"
    show(Text(f"{ran} under {policy}, from {moment(begins)} to {moment(ends)}"))
    for run in _under_way(explainer, stretch):
        began = f"{run.unit} began at {moment(run.began - origin)} with {run.tuples:,} tuples"
        show(Text(f"{began}{unfinished_text([run], history.until is not None)}"))
    show(Text(""))
    ordered = {name: classes[name] for name in explainer.classes.ordered() if name in classes}
    if queries:
        show(_parts_table(ordered, "class"), Text(""), _parts_table(queries, "query"))
    else:
        show(Text("there were no results"))
    _show_waits(waits, pairs, origin)


def _under_way(explainer: Explainer, stretch: tuple[float, float]) -> list[RunRecord]:
    """Runs that have not ended."""
    return [run for run in explainer.runs if run.unfinished and run.ended >= stretch[0] and run.began <= stretch[1]]


def _tree(parts: MeanParts) -> dict[str, Any]:
    return {"results": parts.results, "mean": parts.total, "parts": dict(parts.parts)}


def _parts_table(found: dict[str, MeanParts], what: str) -> Any:
    from headgate.insight.parts import PARTS

    table = plain_table(what, "results", *PARTS, "whole")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, parts in found.items():
        shown = [duration(parts.parts[part]) for part in PARTS]
        table.add_row(Text(name), f"{parts.results:,}", *shown, duration(parts.total))
    return table


def _longest(explainer: Explainer, stretch: tuple[float, float]) -> list[Explanation]:
    """The longest waits, one of each query, and queries that wait still."""
    from headgate.insight.parts import Result, results

    worst: dict[str, Result] = {}
    for result in results(explainer.history, slowest=True):
        life = result.moments
        if stretch[0] <= life.ended <= stretch[1]:
            known = worst.get(result.query)
            if known is None or life.began - life.ready > known.moments.began - known.moments.ready:
                worst[result.query] = result
    found = [explainer.explain(result) for result in worst.values()]
    still = [told for query in explainer.classes.of if (told := explainer.waiting(query)) is not None]
    ordered = sorted([*found, *still], key=lambda told: told.moments.ready - told.moments.began)
    return ordered[:MOST_WAITS]


def _show_waits(waits: Sequence[Explanation], pairs: Sequence[InvertedPair], origin: float) -> None:
    from headgate.insight.why import phrases

    table = plain_table("longest wait", "query", "class", "tuple of", "most of it")
    table.columns[0].justify = table.columns[3].justify = "right"
    for told in waits:
        table.add_row(
            duration(told.moments.began - told.moments.ready),
            Text(told.query),
            Text(told.query_class),
            moment(told.moments.arrival - origin),
            Text(next((one for one in phrases(told) if "behind" in one or "although" in one), "")),
        )
    show(Text(""), table)
    for pair in pairs:
        show(Text(""), Text(pair.summary))
