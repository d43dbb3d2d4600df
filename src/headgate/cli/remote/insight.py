"""What `headgate why`, `what-if` and `journal` do when they ask a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from headgate.cli.console import note, show, show_json
from headgate.cli.number_format import NOTHING, read_moment
from headgate.cli.remote.output import Column, json_line, moment, show_list, table_of
from headgate.cli.remote.server import client
from headgate.model import HeadgateError
from headgate.model.errors import printable
from headgate.model.number_text import duration

MOST_LINES = 20


def why(query: str, at: str | None, last: bool, as_json: bool) -> None:
    """Say what a result of a query on the server waited for."""
    when = None if at is None else read_moment(at, "--at")
    with client() as server:
        told = server[query].why(when, last=last)
        if as_json:
            show_json(told.to_json())
        else:
            show(Text(_lines(told.get("text") or told["sentence"])))


def inversions(over: str | None, as_json: bool) -> None:
    """Say who delayed classes that answer later than less important ones, and what starving queries wait behind."""
    with client() as server:
        asked = {"over": over}
        pairs = list(server.connection.items("/inversions", asked))
        starving = list(server.connection.items("/starvation"))
    if as_json:
        show_json({"inversions": pairs, "starving": starving})
        return
    for one in [*pairs, *starving]:
        show(Text(_lines(one.get("text") or one.get("sentence") or "")))
    if not pairs and not starving:
        note("no class answers later than a less important one, and no query starves")


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
            "add": [_added(path, self.add_class) for path in self.add] or None,
            "rate": None if self.rate == 1.0 else self.rate,
            "last": self.last,
            "by": self.by,
        }
        return {name: value for name, value in given.items() if value is not None}


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


def _added(path: Path, query_class: str | None) -> dict[str, Any]:
    given = {} if query_class is None else {"class": query_class}
    return {"name": path.stem, "sql": path.read_text(encoding="utf-8"), **given}


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
    means = {name: times.get("mean") for name, times in judged["classes"].items()}
    return {"policy": label} | {
        name: NOTHING if mean is None else duration(float(mean)) for name, mean in means.items()
    }


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.splitlines())
