"""One query of a session, to follow and to steer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from headgate.model import HeadgateError
from headgate.model.values import located, whole
from headgate.spark import arguments
from headgate.spark.machine.views import QueryView
from headgate.spark.public_calls import Gate, gated
from headgate.spark.sinks.committed_results import read_committed
from headgate.spark.sinks.followers import BUFFER
from headgate.spark.status import Line, query_line
from headgate.spark.store.atomic_files import disk_error

if TYPE_CHECKING:
    from headgate.spark.session import Session


class Handle:
    """A query of a session. On a closed session its name, its schema and the results in its files can still be read."""

    def __init__(self, session: Session, seen: QueryView) -> None:
        self._session = session
        self._seen = seen

    @property
    def gate(self) -> Gate:
        return self._session.gate

    @property
    def name(self) -> str:
        return self._seen.query.name

    @property
    def schema(self) -> pa.Schema:
        """The columns of its results."""
        return self._seen.columns

    @property
    @gated
    def status(self) -> Line:
        return query_line(self._session.engine.query(self.name))

    @gated
    def results(self, timeout: float | str | None = None, *, buffer: int = BUFFER) -> Iterator[pa.RecordBatch]:
        """Results as they come, from now on; ends when the query or the session does, or when none came for `timeout`.

        At most `buffer` bytes of results wait for whoever reads (or one run's, if those are more). Whoever is so slow
        that they do not suffice misses what comes then: the iterator gives what has waited and raises `HeadgateError`,
        which says how many rows were missed.
        """
        with located("buffer"):
            room = whole(buffer, 1)
        tables = self._session.engine.follow(self.name, arguments.timeout(timeout), room)
        return (batch for table in tables for batch in table.to_batches())

    def read(self) -> pa.Table:
        """All committed results of a query whose sink is files, whether or not they are in a file yet."""
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
        """End it for good; its results stay."""
        self._session.engine.remove_query(self.name)

    @gated
    def move(self, query_class: str) -> None:
        """Put it into another class."""
        self._session.engine.set_class(self.name, query_class)

    @gated
    def replace(self, sql: str) -> None:
        """Give it other SQL with the same columns; it goes on in its streams where it stands."""
        now = self._session.engine.query(self.name).query
        self._session.engine.replace_query(replace(now, plan=self._session.plan(sql), sql=sql))
