"""Options that the commands of `headgate fresh` share: the table of elements, the names of its columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.freshness.column_names import ColumnNames

if TYPE_CHECKING:
    from headgate.freshness.tables import Listed

Table = Annotated[
    Path,
    typer.Argument(help="Elements: a .csv or .parquet file.", show_default=False, metavar="ELEMENTS"),
]
Bandwidth = Annotated[
    float,
    typer.Option("--bandwidth", "-b", help="Refreshes (times size) per period.", show_default=False, metavar="B"),
]
IdColumn = Annotated[str, typer.Option("--id", help="Column of the keys.", metavar="COLUMN")]
RateColumn = Annotated[str, typer.Option("--change-rate", help="Column of changes per period.", metavar="COLUMN")]
AccessColumn = Annotated[str, typer.Option("--access", help="Column of accesses, on any scale.", metavar="COLUMN")]
SizeColumn = Annotated[str, typer.Option("--size", help="Column of sizes; without it all are 1.", metavar="COLUMN")]
FloorColumn = Annotated[
    str, typer.Option("--floor", help="Column of the least freshness of each, if it is there.", metavar="COLUMN")
]
NowColumn = Annotated[
    str, typer.Option("--now", help="Column of today's refreshes per period, if it is there.", metavar="COLUMN")
]
MinFreshness = Annotated[
    float | None,
    typer.Option("--min-freshness", help="Least freshness of every element.", show_default=False, metavar="SHARE"),
]


def listed(path: Path, columns: ColumnNames, min_freshness: float | None = None) -> Listed:
    """The elements of a file, with a floor for all of them if one is given."""
    from headgate.freshness.tables import Listed, read_elements

    table = read_elements(path, columns)
    if min_freshness is None:
        return table
    return Listed(table.elements.with_floor(min_freshness), table.frequency)
