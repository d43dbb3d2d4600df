"""Where a query stands, and what commits must tell of it so that a later life goes on there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.model import HeadgateError, Level
from headgate.plan.sharing import Place
from headgate.spark.cutting import Shape, Shaper
from headgate.spark.running import Logs, RunningQuery, stream_leaves
from headgate.spark.share import key
from headgate.spark.store.records import Commit

Told = Mapping[str, Any]


def announcement(running: RunningQuery) -> Commit:
    """What a query is, how it is cut, and where it stands."""
    query, shape = running.query, running.shape
    told: dict[str, Any] = {
        "sql": query.sql,
        "class": query.query_class,
        "sink": query.sink or "parquet",
        "starts": _keyed(running.starts),
    }
    if running.until:
        told["until"] = _keyed(running.until)
    if running.state == "done":
        told["done"] = True
    if shape.level is not None:
        told["cut"] = {"level": shape.level, "epoch": shape.epoch, "base": _keyed(shape.base)}
    return Commit(positions={query.name: _keyed(running.positions)}, queries={query.name: told})


def place(running: RunningQuery, known: Told, at: Mapping[str, int], logs: Logs, ends: Mapping[str, int]) -> None:
    """Put a query where it stood, `at`; a new one at the ends of its streams, or at their starts."""
    for leaf, stream in stream_leaves(running.query).items():
        fresh = logs[stream].start if running.query.since == "start" else ends[stream]
        running.positions[leaf] = at.get(key(leaf), fresh)
        logs[stream].require(running.positions[leaf])
        running.starts[leaf] = known.get("starts", {}).get(key(leaf), fresh)
        if running.query.once:
            running.until[leaf] = known.get("until", {}).get(key(leaf), ends[stream])
    running.shape = Shape((running.one,))
    if known.get("done"):
        running.state = "done"


def cut_before(running: RunningQuery, known: Told, at: Mapping[str, int], shaper: Shaper) -> Shape | None:
    """The pieces that a query was in, if it was; it stands in them where it stood."""
    cut = known.get("cut")
    if cut is None:
        return None
    base = {leaf: cut["base"][key(leaf)] for leaf in running.starts}
    shape = shaper.cut(running.query, Level(cut["level"]), cut["epoch"], base)
    leaves = [leaf for piece in shape.pieces for leaf in piece.leaves]
    if unknown := [leaf for leaf in leaves if key(leaf) not in at]:
        raise HeadgateError(
            f"query '{running.name}' was in pieces, in which an operator gave its results to windows and past them; "
            f"format 2 has two operators for that, and nothing is known of {key(unknown[0])}",
            hint="stop it, and start it under another name",
        )
    running.positions = {leaf: at[key(leaf)] for leaf in leaves}
    return shape


def _keyed(offsets: Mapping[Place, int]) -> dict[str, int]:
    return {key(place): offset for place, offset in offsets.items()}
