"""Streams as a tenant sees them: define, describe, feed, end."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.model import Stream, streams
from headgate.server.workspace.names import Names
from headgate.spark.machine.views import Overview
from headgate.spark.session import Session
from headgate.spark.store.json_lines import line
from headgate.spark.store.log.segments import HIDDEN


@dataclass(frozen=True, slots=True)
class Streams:
    """The streams of a tenant."""

    session: Session
    names: Names

    def all(self) -> dict[str, Stream]:
        return self.names.own(self.session.streams)

    def find(self, name: str) -> str:
        """The engine's name of a stream that must be there."""
        return self.names.find("stream", name, self.session.engine.streams)

    def create(
        self,
        name: str,
        schema: str,
        *,
        event_time: str | None,
        watermark: float | str,
        ahead: float | str | None,
        source: str | None,
    ) -> None:
        self.session.stream(
            self.names.new(name, "stream"),
            schema,
            event_time=event_time,
            watermark=watermark,
            ahead=ahead,
            source=source,
        )

    def describe(self, name: str, overview: Overview | None = None) -> dict[str, Any]:
        """What was declared, and how the stream is doing."""
        whole = self.find(name)
        engine = self.session.engine
        log = engine.logs[whole]
        thread = self.session.sources.thread
        return {
            **self.definition(whole),
            "tuples": log.end - (log.finished_at is not None),
            "kept_from": log.start,
            "finished": log.finished_at is not None,
            "rate": log.rate(engine.now()),
            "bytes": _size(log.folder),
            "dead_letters": engine.ingest.letters[whole].count(),
            "slowest_reader": self._slowest(whole, overview or engine.overview()),
            "source_error": thread.errors.get(whole),
            "source_note": thread.notes.get(whole),
        }

    def definition(self, whole: str) -> dict[str, Any]:
        """What was declared of a stream."""
        stream = self.session.engine.streams[whole]
        return {
            "name": self.names.short(whole),
            "schema": ", ".join(f"{column} {kind}" for column, kind in stream.schema),
            "event_time": stream.event_time,
            "watermark": stream.watermark,
            "ahead": stream.ahead if isfinite(stream.ahead) else None,
            "source": stream.source,
        }

    def _slowest(self, whole: str, overview: Overview) -> dict[str, Any] | None:
        """The query for which most tuples of a stream wait; of other tenants only that there is one."""
        readers = [view for view in overview.queries if whole in streams(view.query.plan) and view.waiting]
        own = [view for view in readers if self.names.has(view.query.name)]
        if not own:
            return None
        slowest = max(own, key=lambda view: view.waiting)
        return {
            "query": self.names.short(slowest.query.name),
            "tuples": slowest.waiting,
            "oldest_wait": slowest.oldest_wait,
        }

    def finish(self, name: str) -> None:
        self.session.finish(self.find(name))

    def sample(self, name: str, limit: int) -> str:
        """The newest rows, as a JSON document, with their offsets and arrivals."""
        log = self.session.engine.logs[self.find(name)]
        rows = log.read(max(log.start, log.end - limit), log.end)
        return '{"rows":[' + ",".join(map(line, _shown(rows))) + "]}"


def _shown(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows with what users call the hidden columns."""
    return [
        {
            "offset": row["_offset"],
            "arrival": row["_arrival"],
            "late": row["_late"],
            "row": {column: value for column, value in row.items() if column not in HIDDEN},
        }
        for row in rows.to_pylist()
    ]


def _size(folder: Path) -> int:
    """Bytes of the files in a folder; one may go meanwhile."""
    total = 0
    for path in folder.iterdir():
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total
