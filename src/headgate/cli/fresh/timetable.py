"""`headgate fresh timetable`: which element to refresh when."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from headgate.cli import options
from headgate.cli.console import examples, note, show, show_json
from headgate.cli.fresh import element_options
from headgate.cli.number_format import number
from headgate.cli.tables import plain_table
from headgate.freshness.column_names import FORMATS, ColumnNames
from headgate.model import HeadgateError

if TYPE_CHECKING:
    import numpy as np

    from headgate.freshness.curve import Floats
    from headgate.freshness.elements import Elements

EXAMPLES = examples(
    "fresh timetable pages.csv --bandwidth 1000 --out timetable.csv",
    "fresh timetable pages.csv -b 1000 --split 0.1 --moved today.csv",
)
ROWS = 20
MAX_VISITS = 20_000_000

Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write time and id: .parquet or .csv.", show_default=False)
]
Periods = Annotated[float, typer.Option("--periods", help="How many periods.", metavar="N")]
Split = Annotated[
    float, typer.Option("--split", help="Share of the bandwidth kept for what has moved.", metavar="SHARE")
]
MovedTable = Annotated[
    Path | None,
    typer.Option("--moved", help="The elements as they are now, for the split.", show_default=False),
]


def timetable(
    elements: element_options.Table,
    bandwidth: element_options.Bandwidth,
    periods: Periods = 1.0,
    out: Out = None,
    split: Split = 0.0,
    moved: MovedTable = None,
    as_json: options.AsJson = False,
    min_freshness: element_options.MinFreshness = None,
) -> None:
    """Turn the plan into a timetable: every element at equal distances, all of them spread evenly.

    No visit begins before the bandwidth has paid for the one before it.

    With --split, that share of the bandwidth is not planned but goes to elements that are other in the table of
    --moved, where it gives most.
    """
    import numpy as np

    from headgate.freshness.exact import plan
    from headgate.freshness.moved import fixed_share
    from headgate.freshness.timetable import Timetable, paced

    options.check_output(out, "--out", FORMATS)
    if not periods > 0:
        raise HeadgateError(f"--periods must be more than 0, found {periods:g}", hint="write for example 1")
    planned = element_options.listed(elements, ColumnNames(), min_freshness).elements
    frequency = plan(planned, fixed_share(bandwidth, split)).frequency
    if moved is not None:
        frequency = frequency + _extra(planned, moved, frequency, bandwidth, split)
    if periods * frequency.sum() > MAX_VISITS:
        raise HeadgateError(f"that would be {periods * frequency.sum():,.0f} visits", hint="ask for fewer periods")
    due, which = Timetable.of(frequency).between(0.0, periods)
    times = paced(due, planned.size[which], bandwidth)
    assert planned.ids is not None
    keys = np.asarray(planned.ids)[which]
    _show(times, keys, periods, as_json)
    if out is not None:
        from headgate.freshness.tables import write_table

        write_table({"time": times, "id": keys}, out)
        note(f"wrote {out}")


def _extra(planned: Elements, moved: Path, frequency: Floats, bandwidth: float, split: float) -> Floats:
    """Refreshes from the reserved bandwidth for elements whose rates or accesses have changed."""
    from headgate.freshness.moved import respond

    now = element_options.listed(moved, ColumnNames()).elements
    assert now.ids is not None
    assert planned.ids is not None
    if list(now.ids) != list(planned.ids):
        raise HeadgateError("the elements are not the same ones, in the same order", where=str(moved), hint="plan anew")
    response = respond(planned, now, frequency, bandwidth, split=split)
    note(f"{len(response.rows):,} elements have moved; the split gives {response.gain:+.4f} perceived freshness")
    return response.extra


def _show(times: Floats, keys: np.ndarray[Any, Any], periods: float, as_json: bool) -> None:
    import numpy as np

    counts = np.histogram(times, bins=10, range=(0.0, max(periods, times.max(initial=0.0))))[0]
    if as_json:
        visits = [{"time": time, "id": key} for time, key in zip(times.tolist(), keys.tolist(), strict=True)]
        show_json({"periods": periods, "tenths": counts.tolist(), "visits": visits})
        return
    show(Text(f"{len(times):,} visits in {number(periods)} periods", "bold"))
    show(f"in each tenth: {', '.join(f'{count:,}' for count in counts)}", "")
    table = plain_table("time", "id")
    for time, key in islice(zip(times, keys, strict=True), ROWS):
        table.add_row(f"{time:.6f}", Text(str(key)))
    show(table)
    if len(times) > ROWS:
        note(f"the first {ROWS} of {len(times):,} visits; --out and --json have all")
