"""Streams as a tenant sees them: define, describe, feed, end, remove."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from headgate.model import ConflictError, Stream, streams, times
from headgate.server.hosting import EngineHost
from headgate.server.live.numbers import lags
from headgate.server.live.snapshots import Snapshot
from headgate.server.problems import NotFoundError, own_words
from headgate.server.workspace.names import Names
from headgate.spark import arguments
from headgate.spark.session import Session
from headgate.spark.store.json_lines import line
from headgate.spark.store.log.segments import HIDDEN
from headgate.spark.store.log.stream_log import StreamLog
from headgate.workload.fields import columns_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Streams:
    """The streams of a tenant."""

    host: EngineHost
    names: Names

    @property
    def session(self) -> Session:
        return self.host.session()

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
        within: Path | None,
    ) -> None:
        """Declare a stream; with `within` its source reads only files in that folder."""
        stream = arguments.stream(self.names.new(name, "stream"), schema, source, event_time, watermark, ahead)
        self.session.add_stream(replace(stream, within=None if within is None else str(within)))

    def describe(self, name: str, snapshot: Snapshot) -> dict[str, Any]:
        """What was declared, and how the stream is doing."""
        whole = self.find(name)
        numbers = self._there(snapshot.streams.get(whole), whole)
        return {
            **self.definition(whole),
            **{field: value for field, value in numbers.items() if field not in ("error", "note")},
            "bytes": _size(self.session.engine.directory.stream(whole)),
            "slowest_reader": self._slowest(whole, snapshot),
            "source_error": self._told(numbers.get("error")),
            "source_note": self._told(numbers.get("note")),
        }

    def _told(self, text: str | None) -> str | None:
        return None if text is None else own_words(text, self.names.tenant)

    def definition(self, whole: str) -> dict[str, Any]:
        """What was declared of a stream."""
        stream = self.declared(whole)
        return {
            "name": self.names.short(whole),
            "schema": columns_text(stream.schema),
            "event_time": stream.event_time,
            "watermark": stream.watermark,
            "ahead": stream.ahead if isfinite(stream.ahead) else None,
            "source": stream.source,
        }

    @contextmanager
    def changing(self, name: str, if_match: str | None) -> Iterator[str]:
        """Change a stream meanwhile, if its ETag is the one that was sent; gives the engine's name of it."""
        key = "stream", self.names.whole(name)
        with self.host.changes.of(key, f"stream '{name}'", if_match, lambda: self.definition(self.find(name))):
            yield self.find(name)

    def _slowest(self, whole: str, snapshot: Snapshot) -> dict[str, Any] | None:
        """The query for which most tuples of a stream wait."""
        found = lags(numbers for name, numbers in snapshot.queries.items() if self.names.has(name)).get(whole)
        if found is None:
            return None
        view, tuples, oldest = found
        return {"query": self.names.short(view.query.name), "tuples": tuples, "oldest_wait": oldest}

    def drop(self, whole: str) -> None:
        """Remove a stream; a tenant is told which of its own queries read it, and not the names of others."""
        try:
            self.session.drop_stream(whole)
        except ConflictError:
            views = [numbers.view for numbers in self.host.snapshot().queries.values()]
            readers = [view.query.name for view in views if whole in streams(view.query.plan)]
            if all(map(self.names.has, readers)):
                raise
            own = [f"'{self.names.short(reader)}'" for reader in sorted(readers) if self.names.has(reader)]
            raise ConflictError(
                f"stream '{self.names.short(whole)}' cannot be dropped: a query of the server's operator reads it"
                + (f", and so do {', '.join(own)}" if own else ""),
                hint="ask the operator to stop it",
            ) from None

    def finish(self, name: str) -> None:
        self.session.finish(self.find(name))

    def log(self, whole: str) -> StreamLog:
        """The log of a stream; `NotFoundError` if it was dropped just now, its error if it is refused."""
        self.session.engine.ingest.check(whole)
        return self._there(self.session.engine.logs.get(whole), whole)

    def declared(self, whole: str) -> Stream:
        """The declaration of a stream; `NotFoundError` if it was dropped just now."""
        return self._there(self.session.engine.streams.get(whole), whole)

    def _there(self, thing: T | None, whole: str) -> T:
        if thing is None:
            raise NotFoundError(f"unknown stream '{self.names.short(whole)}'", hint="GET /v1/streams lists them")
        return thing

    def sample(self, name: str, limit: int) -> str:
        """The newest rows, as a JSON document, with their offsets and arrivals."""
        log = self.log(self.find(name))
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
        for row in times.rows(rows)
    ]


def _size(folder: Path) -> int:
    """Bytes of the files in a folder; one may go meanwhile."""
    total = 0
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            with suppress(FileNotFoundError):
                total += path.stat().st_size
    return total
