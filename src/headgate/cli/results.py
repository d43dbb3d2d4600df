"""`headgate results`: print the committed results of a query."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from headgate.cli import options
from headgate.cli.console import examples, note, show
from headgate.cli.tables import plain_table, plain_value
from headgate.model import HeadgateError

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = examples("results out/plant", "results out/plant fire", "results out/plant fire --csv")
MOST_ROWS = 20

QueryName = Annotated[
    str | None, typer.Argument(help="Which query; without one, which there are.", show_default=False, metavar="QUERY")
]
AsLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per row, and nothing else, to stdout.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV, and nothing else, to stdout.")]


def results(
    directory: options.Directory,
    query: QueryName = None,
    rows: options.Rows = None,
    as_json: AsLines = False,
    as_csv: AsCsv = False,
) -> None:
    """Print what a query has produced: all that is committed, also while the engine runs.

    The newest 20 rows as a table, or all of them as JSON lines or CSV; --rows says otherwise.
    """
    if as_json and as_csv:
        raise HeadgateError("--json and --csv are both given", hint="leave one of them out")
    options.check_rows(rows)
    options.check_directory(directory)
    if query is None:
        _show_known(directory, as_json)
        return
    table = _read(directory, query)
    most = rows if rows is not None or as_json or as_csv else MOST_ROWS
    newest = table if most is None else table.slice(max(0, table.num_rows - most))
    if as_json:
        _write_json(newest)
    elif as_csv:
        _write_csv(newest)
    else:
        _show(newest, table.num_rows)


def _read(directory: Path, query: str) -> pa.Table:
    from headgate.spark.sinks.committed_results import check_in_files, known_queries, read_committed, read_log

    queries = known_queries(directory)
    if query not in queries:
        check_in_files(query, read_log(directory / "commits"))
        hint = f"known: {', '.join(queries)}" if queries else "no query has written files here"
        raise HeadgateError(f"unknown query '{query}'", where=str(directory), hint=hint)
    return read_committed(directory, query)


def _show_known(directory: Path, as_json: bool) -> None:
    from headgate.spark.sinks.committed_results import count_committed

    counted = count_committed(directory)
    if as_json:
        for name, count in counted.items():
            typer.echo(json.dumps({"query": name, "rows": count}, ensure_ascii=False))
        return
    table = plain_table("query", "rows")
    table.columns[1].justify = "right"
    for name, count in counted.items():
        table.add_row(Text(name), f"{count:,}")
    show(table)


def _show(newest: pa.Table, total: int) -> None:
    if not total:
        note("no results yet")
        return
    table = plain_table(*newest.column_names)
    for row in _plain(newest):
        table.add_row(*(Text(plain_value(value)) for value in row.values()))
    show(table)
    if newest.num_rows < total:
        note(f"the newest {newest.num_rows:,} of {total:,} rows; --rows says how many, --json and --csv print all")


def _write_json(table: pa.Table) -> None:
    from headgate.spark.store.json_lines import to_lines

    typer.echo(to_lines(table).decode(), nl=False)


def _write_csv(table: pa.Table) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if table.column_names:
        writer.writerow(table.column_names)
    for row in _plain(table):
        writer.writerow([_cell(value) for value in row.values()])


def _plain(table: pa.Table) -> list[dict[str, Any]]:
    from headgate.spark.store.json_lines import to_lines

    return [json.loads(line) for line in to_lines(table).splitlines()]


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
