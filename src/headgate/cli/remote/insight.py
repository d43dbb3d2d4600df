"""What `headgate why`, `what-if` and `journal` do when they ask a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from headgate.cli.console import note, show, show_json
from headgate.cli.number_format import NOTHING, read_duration, read_moment
from headgate.cli.remote.output import Column, count, json_line, moment, show_list, span, table_of
from headgate.cli.remote.server import client
from headgate.model import HeadgateError
from headgate.model.errors import printable
from headgate.model.number_text import duration

MOST_LINES = 20
MOST_RUNS = 12
DELAYS = [
    Column("waited", span("seconds"), right=True),
    Column("behind", "unit"),
    Column("class", "class"),
    Column("tuples", count("tuples"), right=True),
    Column("because", "cause"),
]

LOSSES = [
    Column("lost", span("seconds"), right=True),
    Column("to", "whom"),
    Column("runs", count("runs"), right=True),
    Column("because", "cause"),
]


def why(query: str, at: str | None, last: bool, as_json: bool) -> None:
    """Say what a result of a query on the server waited for."""
    when = None if at is None else read_moment(at, "--at")
    with client() as server:
        told = server[query].why(when, last=last).to_json()
    show_json(told) if as_json else _show_explanation(told)


def _show_explanation(told: Mapping[str, Any]) -> None:
    """Where the time of a result went, what it waited behind, and all of it in a sentence."""
    parts = {**told["parts"], "whole": told["seconds"]}
    show(table_of([parts], [Column(name, span(name), right=True) for name in parts]))
    delays = sorted(told["delays"], key=lambda delay: -delay["seconds"])
    if delays:
        show("", table_of(delays[:MOST_RUNS], DELAYS))
    if len(delays) > MOST_RUNS:
        rest = sum(delay["seconds"] for delay in delays[MOST_RUNS:])
        show(Text(f"and {len(delays) - MOST_RUNS:,} other runs, {duration(rest)} in all"))
    show("", Text(printable(f"{told['query']} {told['sentence']}")))


def inversions(over: str | None, as_json: bool) -> None:
    """Say who delayed classes that answer later than less important ones, and what starving queries wait behind."""
    if over is not None:
        read_duration(over, "--over")
    with client() as server:
        told = server.connection.get("/inversions", {"over": over})
    if as_json:
        show_json(told)
        return
    for pair in told["inversions"]:
        show(Text(printable(_inversion(pair))))
        show(table_of(pair["sum"]["to"][:MOST_RUNS], LOSSES), "")
    for one in told["starving"]:
        show(Text(printable(f"{one['query']} {one['sentence']}")))
    if not told["inversions"] and not told["starving"]:
        note("no class answers later than a less important one, and no query starves")


def _inversion(pair: Mapping[str, Any]) -> str:
    above, below = (duration(pair[f"response_{which}"]) for which in ("above", "below"))
    return (
        f"{pair['above']} answers after {above} on average, the less important {pair['below']} after {below}; "
        f"its {pair['results']:,} results lost {duration(pair['sum']['seconds'])} to:"
    )


def journal(query: str | None, last: int | None, as_json: bool) -> None:
    """List the changes of queries' states on the server."""
    most = last if last is not None or as_json else MOST_LINES
    with client() as server:
        newest = [entry.to_json() for entry in server.journal(query, most)]
    if as_json:
        for entry in newest:
            json_line(entry)
        return
    columns = [
        Column("time", lambda item: moment(item["at"])),
        Column("query", "query"),
        Column("change", lambda item: f"{item['from']} → {item['to']}"),
        Column("reason", "reason"),
    ]
    show_list(newest, columns, False, "no changes of states yet")
    if newest and len(newest) == most:
        note(f"the newest {len(newest):,} changes; --last says how many, --json prints all")


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be different in a what-if, as options say it."""

    fuse: str | None
    priorities: Mapping[str, float]
    workers: int | None
    add: Sequence[Path]
    add_class: str | None
    rate: float
    last: str | None
    by: str | None

    def fields(self) -> dict[str, Any]:
        """The fields of the request."""
        given = {
            "fuse": self.fuse,
            "priorities": dict(self.priorities) or None,
            "workers": self.workers,
            "added": self._added(),
            "rate": None if self.rate == 1.0 else self.rate,
            "last": None if self.last is None else read_duration(self.last, "--last"),
            "by": self.by,
        }
        return {name: value for name, value in given.items() if value is not None}

    def _added(self) -> dict[str, str] | None:
        if len(self.add) > 1:
            raise HeadgateError(f"a server takes one --add, found {len(self.add)}", hint="ask for one after the other")
        return None if not self.add else _query_of_file(self.add[0], self.add_class)


def what_if(policies: Sequence[str], changes: Changes, as_json: bool) -> None:
    """Replay the server's last minutes under other policies or settings."""
    given = changes.fields()
    if not policies and not given.keys() - {"last", "by"}:
        raise HeadgateError(
            "nothing is to be different", hint="add --policy fcfs, or --workers, --rate, --fuse, --priority or --add"
        )
    with client() as server:
        told = server.what_if(policies, **given).to_json()
    if as_json:
        show_json(told)
    else:
        _show_comparison(told)


def _query_of_file(path: Path, query_class: str | None) -> dict[str, str]:
    """A query that is not there; comments in its file may say its name and its class."""
    from headgate.what_if.question import said_in

    try:
        sql = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise HeadgateError("this is not a file with SQL", where=str(path), hint="give a text file") from None
    name, chosen = said_in(sql, "name:") or path.stem, query_class or said_in(sql, "class:")
    if chosen is None:
        hint = "write '-- class: critical' above the SQL, or say it with --add-class"
        raise HeadgateError(f"the class of query '{name}' is not said", where=str(path), hint=hint)
    return {"name": name, "sql": sql, "class": chosen}


def _show_comparison(told: Mapping[str, Any]) -> None:
    """The recorded classes beside those of each policy."""
    recorded, policies = told["recorded"], told["policies"]
    rows = [
        _row(f"recorded: {recorded['policy']}", recorded),
        _row("  replayed", told["replayed"]),
        *(_row(f"{place}. {name}", policies[name]) for place, name in enumerate(told["ranking"], 1)),
    ]
    classes = [Column(f"{name}\nmean", name, right=True) for name in recorded["classes"]]
    show(table_of(rows, [Column("policy", "policy"), *classes]))
    for policy, error in told.get("failed", {}).items():
        note(f"failed {policy}: {error}")


def _row(label: str, judged: Mapping[str, Any]) -> dict[str, str]:
    means = {name: times["response_time"]["mean"] for name, times in judged["classes"].items()}
    return {"policy": label} | {
        name: NOTHING if mean is None else duration(float(mean)) for name, mean in means.items()
    }
