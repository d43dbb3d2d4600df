"""`Handle`: one query of a session, to read its results and to pause, resume, move, replace or stop it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headgate.display import first_rows, html_table, pandas_frame, text_table
from headgate.model import HeadgateError
from headgate.model.values import located, whole
from headgate.spark import arguments
from headgate.spark.machine.views import QueryView
from headgate.spark.new_query import plan_for
from headgate.spark.session_gate import Gate, gated
from headgate.spark.sinks.committed_results import read_committed
from headgate.spark.sinks.followers import BUFFER
from headgate.spark.sinks.registry import is_file
from headgate.spark.status import StatusLine, query_status
from headgate.spark.store.atomic_files import unreadable

if TYPE_CHECKING:
    from headgate.spark.session import Session


SHOWN = 10  # results that a notebook shows of a query
POLL = 0.05  # seconds between two looks at the results that somebody waits for
NO_MORE = ("paused", "suspended", "done", "stopped")  # states in which a query gives no results by itself


class Handle:
    """One query of a session: read its results, steer it, stop it. `Session.query` returns it.

    On a closed session its name and schema can still be read and, if the session has a directory, its results.

    >>> import headgate
    >>> hg = headgate.Session()
    >>> hg.stream("readings", "machine string, temp double")
    >>> hot = hg.query("hot", "SELECT machine, temp FROM readings WHERE temp > 90")
    """

    def __init__(self, session: Session, view: QueryView) -> None:
        self._session = session
        self._view = view

    def __repr__(self) -> str:
        query = self._view.query
        if self.gate.closed:
            return f"<query {self.name!r} of a closed session>"
        line = self.status
        error = f": {line.error}" if line.error else ""
        return f"<query {self.name!r}, class {query.query_class!r}, {line.state}, {line.tuples_out:,} results{error}>"

    def _repr_html_(self) -> str:
        if self.gate.closed:
            return html_table(self.schema.names, [], repr(self))
        results = self.read() if is_file(self._view.query.sink) else self.schema.empty_table()
        return html_table(*first_rows(results, SHOWN), caption=f"{self!r}; the first rows of {results.num_rows:,}")

    @property
    def gate(self) -> Gate:
        return self._session.gate

    @property
    def name(self) -> str:
        """The query's name.

        >>> hot.name
        'hot'
        """
        return self._view.query.name

    @property
    def schema(self) -> pa.Schema:
        """The columns of its results, as an Arrow schema.

        >>> hot.schema.names
        ['machine', 'temp']
        """
        columns: pa.Schema | None = self._view.columns  # None for one from before that waits for something
        return pa.schema([]) if columns is None else columns

    @property
    @gated
    def status(self) -> StatusLine:
        """How the query is doing now: a `StatusLine` with its state, what waits for it, counts and response times.

        >>> hot.status.state, hot.status.waiting, hot.status.error
        ('running', 0, '')
        """
        return query_status(self._session.engine, self.name)

    @gated
    def results(self, timeout: float | str | None = None, *, buffer: int = BUFFER) -> Iterator[pa.RecordBatch]:
        """Follow the results: an iterator over Arrow record batches that are committed from now on.

        * `timeout`: end after this long without a result. Without it, the iterator ends with the query or the session.
        * `buffer`: how many bytes of results may wait for the reader.

        A reader that is slower than its query gets what has waited, and then a `HeadgateError` that says how many rows
        it has missed. `read` has them all.

        >>> coming = hot.results(timeout="1 min")
        >>> hg.append("readings", [{"machine": "oven", "temp": 97.5}, {"machine": "press", "temp": 61}])
        2
        >>> next(coming).to_pylist()
        [{'machine': 'oven', 'temp': 97.5}]
        """
        with located("buffer"):
            size = whole(buffer, 1)
        tables = self._session.engine.follow(self.name, arguments.timeout(timeout), size)
        return (batch for table in tables for batch in table.to_batches())

    def read(self) -> pa.Table:
        """All committed results of a query that writes files, as an Arrow table, whether they are in a file yet or not.

        `HeadgateError` if the session is closed and had no `directory`: then its results are gone.

        >>> hot.read().to_pylist()
        [{'machine': 'oven', 'temp': 97.5}]
        """
        session = self._session
        if self.gate.closed and session.temporary:
            raise HeadgateError(
                "the session is closed, and its results are gone with its temporary directory",
                hint="give Session a directory=",
            )
        try:
            return read_committed(session.engine.directory.path, self.name, self.schema)
        except OSError as error:
            raise unreadable(error.filename or session.directory, error) from error

    def show(self, rows: int = 20) -> None:
        """Print the first results of a query that writes files.

        * `rows`: how many.

        >>> hot.show()
        machine  temp
        -------  ----
        oven     97.5
        """
        results = self.read()
        with located("rows"):
            headings, cells = first_rows(results, whole(rows, 0))
        print(text_table(headings, cells))
        if results.num_rows > len(cells):
            print(f"{results.num_rows - len(cells):,} more rows")

    def to_pandas(self) -> Any:
        """All committed results as a DataFrame of pandas: `hot.to_pandas().describe()`.

        `HeadgateError` if pandas is not installed: `pip install pandas`.
        """
        _need("pandas")
        return pandas_frame(self.read())

    def to_polars(self) -> Any:
        """All committed results as a DataFrame of polars: `hot.to_polars().describe()`.

        `HeadgateError` if polars is not installed: `pip install polars`.
        """
        return _need("polars").from_arrow(self.read())

    @gated
    def wait(self, rows: int = 1, timeout: float | str | None = None) -> pa.Table:
        """Wait until a query that writes files has so many results. Returns all of them, as `read` does.

        * `rows`: how many results to wait for, in all.
        * `timeout`: how long at most.

        `HeadgateError` if there are fewer when the time is over, or when no more will come: the query has ended, is
        paused or has failed, and the message says why.

        >>> hot.wait(rows=1, timeout="1 min").num_rows
        1
        """
        with located("rows"):
            wanted = whole(rows, 0)
        limit = arguments.timeout(timeout)
        deadline = math.inf if limit is None else time.monotonic() + limit
        while True:
            status = self.status  # before the results are counted: what it has committed by then is among them
            results = self.read()
            if results.num_rows >= wanted:
                return results
            if status.state in NO_MORE or time.monotonic() >= deadline:
                raise self._too_few(results.num_rows, wanted, status)
            time.sleep(min(POLL, max(0.0, deadline - time.monotonic())))

    def _too_few(self, rows: int, wanted: int, status: StatusLine) -> HeadgateError:
        asked = f"query '{self.name}' has {rows} of {wanted} rows, and "
        if status.state not in NO_MORE:
            return HeadgateError(f"{asked}the timeout is over", hint="wait longer, or for fewer rows")
        reason = f": {status.error}" if status.error else ""
        return HeadgateError(f"{asked}it is {status.state}{reason}", hint="read() gives what is there")

    @gated
    def pause(self) -> None:
        """Take no more rows until `resume`. Rows that come meanwhile are kept in the stream, and wait.

        >>> hot.pause()
        >>> hg.append("readings", [{"machine": "oven", "temp": 99}])
        1
        >>> hot.status.state
        'paused'
        """
        self._session.engine.pause(self.name)

    @gated
    def resume(self) -> None:
        """Go on where the query was paused, or suspended after a failure; or start one now that was to start later.

        >>> hot.resume()
        >>> hot.wait(rows=2, timeout="1 min").num_rows
        2
        """
        self._session.engine.resume(self.name)

    @gated
    def move(self, query_class: str) -> None:
        """Put the query into another class.

        `HeadgateError` if there is no such class.

        >>> hg.create_class("critical", priority=60)
        >>> hot.move("critical")
        >>> hot.status.query_class
        'critical'
        """
        self._session.engine.set_class(self.name, query_class)

    @gated
    def replace(self, sql: str) -> None:
        """Give the query other SQL with the same columns. It goes on at the same rows; windows begin there.

        `HeadgateError` if the SQL is refused or has other columns; then the query goes on with the SQL that it has.

        >>> hot.replace("SELECT machine, temp FROM readings WHERE temp > 60")
        >>> hg.append("readings", [{"machine": "press", "temp": 61}])
        1
        >>> hot.wait(rows=3, timeout="1 min")["temp"].to_pylist()
        [97.5, 99.0, 61.0]
        """
        query = self._session.engine.query(self.name).query
        self._session.engine.replace_query(replace(query, plan=plan_for(self._session.engine, self.name, sql), sql=sql))

    @gated
    def stop(self) -> None:
        """Remove the query for good. Its results stay, and its name can be used again.

        It returns when its committed results are in its files or its table, so that you can move or remove them then.
        It waits at most ten seconds for a sink that takes longer, and not at all for a function of yours, or for a sink
        that refuses results: they are offered to it again later.

        >>> hot.stop()
        >>> list(hg.queries)
        []
        >>> status = hg.close()
        """
        self._session.engine.remove_query(self.name)


def _need(package: str) -> Any:
    """Import a package that Headgate does without."""
    try:
        return import_module(package)
    except ImportError:
        hint = f"pip install {package}, or use read(), which gives an Arrow table"
        raise HeadgateError(f"{package} is not installed", hint=hint) from None
