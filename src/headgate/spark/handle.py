"""`Handle`: one query of a session, to read its results and to pause, resume, move, replace or stop it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from headgate.model import HeadgateError
from headgate.model.values import located, whole
from headgate.spark import arguments
from headgate.spark.machine.views import QueryView
from headgate.spark.session_gate import Gate, gated
from headgate.spark.sinks.committed_results import read_committed
from headgate.spark.sinks.followers import BUFFER
from headgate.spark.status import StatusLine, query_line
from headgate.spark.store.atomic_files import disk_error

if TYPE_CHECKING:
    from headgate.spark.session import Session


class Handle:
    """A query of a session. On a closed session its name, its schema and the results in its files can still be read."""

    def __init__(self, session: Session, view: QueryView) -> None:
        self._session = session
        self._view = view

    @property
    def gate(self) -> Gate:
        return self._session.gate

    @property
    def name(self) -> str:
        return self._view.query.name

    @property
    def schema(self) -> pa.Schema:
        """The columns of its results."""
        return self._view.columns

    @property
    @gated
    def status(self) -> StatusLine:
        return query_line(self._session.engine.query(self.name))

    @gated
    def results(self, timeout: float | str | None = None, *, buffer: int = BUFFER) -> Iterator[pa.RecordBatch]:
        """Results as they are committed from now on; ends with the query, the session, or after `timeout` without any.

        At most `buffer` bytes of results wait for the reader (or those of one run, if that is more). A reader that is
        too slow misses later results: the iterator gives what has waited and then raises `HeadgateError`, which says
        how many rows were missed.
        """
        with located("buffer"):
            size = whole(buffer, 1)
        tables = self._session.engine.follow(self.name, arguments.timeout(timeout), size)
        return (batch for table in tables for batch in table.to_batches())

    def read(self) -> pa.Table:
        """All committed results of a query with a file sink, whether or not they are in a file yet."""
        session = self._session
        if self.gate.closed and session.temporary:
            raise HeadgateError(
                "the session is closed, and its results are gone with its temporary directory",
                hint="give Session a directory=",
            )
        try:
            return read_committed(session.engine.directory.path, self.name, self.schema)
        except OSError as error:
            raise disk_error(error) from error

    @gated
    def pause(self) -> None:
        self._session.engine.pause(self.name)

    @gated
    def resume(self) -> None:
        self._session.engine.resume(self.name)

    @gated
    def stop(self) -> None:
        """Remove the query for good; its results stay."""
        self._session.engine.remove_query(self.name)

    @gated
    def move(self, query_class: str) -> None:
        """Put the query into another class."""
        self._session.engine.set_class(self.name, query_class)

    @gated
    def replace(self, sql: str) -> None:
        """Give the query new SQL with the same columns; it continues at its positions in its streams."""
        query = self._session.engine.query(self.name).query
        self._session.engine.replace_query(replace(query, plan=self._session.plan(sql), sql=sql))
