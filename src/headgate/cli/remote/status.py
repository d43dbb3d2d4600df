"""`headgate status`: how a server is doing, once or again and again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from headgate.cli.alarms import disk_alarm, stalled_alarm
from headgate.cli.console import examples, show, show_json, stdout
from headgate.cli.options import AsJson
from headgate.cli.remote.output import Column, count, json_line, rate, span, table_of
from headgate.cli.remote.server import client, until_interrupted
from headgate.model.errors import printable
from headgate.model.number_text import duration

if TYPE_CHECKING:
    from headgate.client.records import Status

EXAMPLES = examples("status", "status --watch", "--server http://127.0.0.1:8440 status --json")
EVERY = 1.0  # seconds between two looks
MOST_QUERIES = 40
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Look again every second, until Ctrl-C.")]
WIDE = 110  # characters of a line, for counts besides what waits
NUMBERS = [
    Column("tuples/s", rate("rate"), right=True),
    Column("waiting", count("waiting"), right=True),
    Column("oldest", span("oldest_wait"), right=True),
    Column("p50", span("latency", "last_10_s", "p50"), right=True),
    Column("p95", span("latency", "last_10_s", "p95"), right=True),
    Column("in", count("tuples_in"), right=True, least=WIDE),
    Column("out", count("tuples_out"), right=True, least=WIDE),
    Column("dead", count("dead_letters"), right=True, least=WIDE),
]


def status(watch: Watch = False, as_json: AsJson = False) -> None:
    """Tell how a server is doing: its engine, classes and queries, what waits, what has failed.

    Response times are those of the last 10 seconds. With --watch and --json: one JSON object per line.
    """
    with client() as server:
        if not watch:
            found = server.status()
            show_json(found.to_json()) if as_json else show(picture(found))
            return
        with until_interrupted():
            if as_json:
                while True:
                    json_line(server.status())
                    time.sleep(EVERY)
            _watch(server.status)


def _watch(look: Any) -> None:
    from rich.live import Live

    with Live(picture(look()), console=stdout(), auto_refresh=False, screen=stdout().is_terminal) as live:
        while True:
            time.sleep(EVERY)
            live.update(picture(look()), refresh=True)


def picture(found: Status) -> Group:
    """The status as lines and tables."""
    engine = found["engine"]
    if "policy" not in found:
        detail = f": {engine['detail']}" if engine.get("detail") else ""
        return Group(_line(f"the engine is {engine['state']}{detail}, for {duration(engine['seconds'])}"))
    runs = f", {found.runs:,} runs" if found.runs else ""
    lines: list[Any] = [_line(f"{engine['state']}, under {found.policy}{runs}, up for {duration(found.seconds)}")]
    classes = [Column("class", "name"), Column("priority", "priority", right=True), *NUMBERS]
    if found.classes:
        lines += ["", table_of(found.classes, classes)]
    if found.queries:
        queries = [Column("query", "name"), Column("class", "class"), Column("state", "state"), *NUMBERS]
        urgent = sorted(found.queries, key=_urgency)
        lines += ["", table_of(urgent[:MOST_QUERIES], queries)]
        if len(urgent) > MOST_QUERIES:
            lines.append(_line(f"… and {len(urgent) - MOST_QUERIES:,} more queries; headgate query ls"))
    else:
        lines.append(_line("no queries; headgate query add …"))
    return Group(*lines, *map(_line, _failures(found)))


def _urgency(line: Mapping[str, Any]) -> tuple[bool, float, float]:
    return (
        not (line.get("error") or "stalled" in line),
        -(line.get("oldest_wait") or 0.0),
        -(line.get("priority") or 0.0),
    )


def _failures(found: Status) -> list[str]:
    told = [f"the source of stream '{stream}' failed: {error}" for stream, error in found.source_errors.items()]
    told += [f"Spark is away: {found.spark_error}"] if found.spark_error else []
    told += [found.spark_note] if found.spark_note else []
    told += [f"the policy failed: {found.policy_error}"] if found.policy_error else []
    told += disk_alarm(found.disk.get("full", False), found.disk.get("error", ""))
    told += [stalled_alarm(line.name, line.stalled) for line in found.queries if line.stalled is not None]
    told += [f"class {name} gets nothing while others run" for name in found.starved]
    return told + [f"{line.name}: {line.error}" for line in found.queries if line.error]


def _line(text: str) -> Text:
    return Text(printable(text))
