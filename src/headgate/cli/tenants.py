"""`headgate tenant`: what each tenant of a server may use."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer
from rich.text import Text

from headgate.cli.console import examples, show, show_json
from headgate.cli.help_texts import ReadableCommand, ReadableGroup
from headgate.cli.options import AsJson
from headgate.cli.tables import plain_table
from headgate.cli.tokens import DEFAULT_DATA, Data
from headgate.model import HeadgateError

EXAMPLES = examples(
    "tenant set plant --queries 20 --rows 1000000 --waiting 500000",
    "tenant set plant --bytes-per-minute 50MB --classes normal,background",
    "tenant ls",
)
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*(B|kB|MB|GB|KiB|MiB|GiB)?")
_UNITS = {None: 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

app = typer.Typer(
    cls=ReadableGroup, no_args_is_help=True, help="Set and list what tenants of a server may use.", epilog=EXAMPLES
)
Tenant = Annotated[str, typer.Argument(help="The name of a tenant.", show_default=False, metavar="T")]


def _number(name: str, help: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, help=help, show_default=False, metavar="N", min=0)
    return option


Queries = Annotated[int | None, _number("--queries", "Queries that it may have at a time.")]
RowsKept = Annotated[int | None, _number("--rows", "Rows of results that are kept for it.")]
Waiting = Annotated[int | None, _number("--waiting", "Tuples that may wait for its queries.")]
BytesPerMinute = Annotated[
    str | None,
    typer.Option("--bytes-per-minute", help="What it may push, as 50MB.", show_default=False, metavar="BYTES"),
]
ClassNames = Annotated[
    str | None,
    typer.Option(
        "--classes",
        help="Classes that it may use, with commas between them; * for all.",
        show_default=False,
        metavar="NAMES",
    ),
]


@app.command("set", cls=ReadableCommand, epilog=EXAMPLES)
def change(
    tenant: Tenant,
    queries: Queries = None,
    rows: RowsKept = None,
    waiting: Waiting = None,
    bytes_per_minute: BytesPerMinute = None,
    classes: ClassNames = None,
    data: Data = DEFAULT_DATA,
    as_json: AsJson = False,
) -> None:
    """Set what a tenant may use; what is not given stays. A running server knows it at once."""
    from headgate.server.access.tenants import TenantFile

    given = {
        "queries": queries,
        "rows": rows,
        "waiting": waiting,
        "bytes_per_minute": None if bytes_per_minute is None else read_bytes(bytes_per_minute),
        "classes": None if classes is None else tuple(name.strip() for name in classes.split(",") if name.strip()),
    }
    limits = TenantFile(data).set(tenant, **{name: value for name, value in given.items() if value is not None})
    if as_json:
        show_json({tenant: limits.to_json()})
    else:
        _show({tenant: limits.to_json()})


@app.command("ls", cls=ReadableCommand, epilog=EXAMPLES)
def listed(data: Data = DEFAULT_DATA, as_json: AsJson = False) -> None:
    """List the tenants for which something was set, and what others may use."""
    from headgate.server.access.tenants import TenantFile, TenantLimits

    tenants = {name: limits.to_json() for name, limits in sorted(TenantFile(data).all().items())}
    if as_json:
        show_json({"tenants": tenants, "others": TenantLimits().to_json()})
    else:
        _show({**tenants, "any other": TenantLimits().to_json()})


def read_bytes(text: str) -> int:
    """A number of bytes.

    >>> read_bytes("50MB"), read_bytes("1.5 KiB"), read_bytes("100")
    (50000000, 1536, 100)
    """
    match = _BYTES.fullmatch(text.strip())
    if match is None:
        raise HeadgateError(f"--bytes-per-minute is not a number of bytes, found {text}", hint="write for example 50MB")
    return int(float(match[1]) * _UNITS[match[2]])


def _show(tenants: dict[str, dict[str, Any]]) -> None:
    table = plain_table("tenant", "queries", "rows kept", "waiting", "bytes a minute", "classes")
    for name, limits in tenants.items():
        *numbers, classes = limits.values()
        table.add_row(name, *(f"{number:,}" for number in numbers), Text(", ".join(classes)))
    show(table)
