"""`Handle`: one query of a server, to read its results and to pause, resume, move, replace or stop it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import chain
from typing import Any

import pyarrow as pa

from headgate.client import arguments
from headgate.client.connection import Connection, path_of
from headgate.client.following import Event, Following
from headgate.client.records import Record, StatusLine
from headgate.client.results import Results
from headgate.display import first_rows, pandas_frame, text_table
from headgate.model import HeadgateError
from headgate.model.json_values import to_arrow
from headgate.model.values import located, text, whole

POLL, SLOWEST_POLL = 0.05, 0.5  # seconds between two looks at results that somebody waits for
NO_MORE = ("paused", "suspended", "done", "stopped")  # states in which a query gives no results by itself


class Handle:
    """One query of a server: read its results, steer it, stop it. `Client.query` returns it.

    >>> import headgate
    >>> hg = headgate.Client("http://127.0.0.1:8440")
    >>> hg.stream("sensors", "machine string, temp double")
    >>> warm = hg.query("warm", "SELECT machine, temp FROM sensors WHERE temp > 90")
    """

    def __init__(self, connection: Connection, described: dict[str, Any]) -> None:
        self._connection = connection
        self._name: str = described["name"]
        self._schema: pa.Schema | None = None

    def __repr__(self) -> str:
        if self._connection.closed:
            return f"<query {self.name!r} of a closed client>"
        line = self.status
        error = f": {line.error}" if line.error else ""
        return f"<query {self.name!r}, class {line.query_class!r}, {line.state}, {line.tuples_out:,} results{error}>"

    @property
    def name(self) -> str:
        """The query's name.

        >>> warm.name
        'warm'
        """
        return self._name

    @property
    def schema(self) -> pa.Schema:
        """The columns of its results, as an Arrow schema.

        >>> warm.schema.names
        ['machine', 'temp']
        """
        if self._schema is None:
            self._schema = Results(self._connection, self.name).schema()
        return self._schema

    @property
    def status(self) -> StatusLine:
        """How the query is doing now: its state, what waits for it, counts and response times.

        >>> warm.status.state, warm.status.waiting, warm.status.error
        ('running', 0, '')
        """
        return StatusLine(self._connection.get(self._path()))

    def results(self, timeout: float | str | None = None) -> Iterator[pa.RecordBatch]:
        """Follow the results: an iterator over Arrow record batches that are committed from now on.

        * `timeout`: end after this long without a result. Without it, the iterator ends with the query or the server.

        If the connection breaks, it goes on after the last row that came.

        >>> coming = warm.results(timeout="1 min")
        >>> hg.append("sensors", [{"machine": "oven", "temp": 97.5}, {"machine": "press", "temp": 61}])
        2
        >>> next(coming).to_pylist()
        [{'machine': 'oven', 'temp': 97.5}]
        """
        schema, limit = self.schema, arguments.span(timeout, "timeout")
        following = Following(self._connection, self._path("results", "stream"), {"from": "now"}, limit)
        coming = iter(following)
        begin = next(coming, None)  # once it is here, the server tells us of every result
        return _batches(coming if begin is None else chain([begin], coming), schema)

    def read(self) -> pa.Table:
        """All committed results of a query that writes files, as an Arrow table.

        >>> warm.read().to_pylist()
        [{'machine': 'oven', 'temp': 97.5}]
        """
        return Results(self._connection, self.name).read()

    def show(self, rows: int = 20) -> None:
        """Print the first results of a query that writes files.

        * `rows`: how many.

        >>> warm.show()
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
        """All committed results as a DataFrame of pandas.

        `HeadgateError` if pandas is not installed: `pip install pandas`.
        """
        _need("pandas")
        return pandas_frame(self.read())

    def to_polars(self) -> Any:
        """All committed results as a DataFrame of polars.

        `HeadgateError` if polars is not installed: `pip install polars`.
        """
        return _need("polars").from_arrow(self.read())

    def wait(self, rows: int = 1, timeout: float | str | None = None) -> pa.Table:
        """Wait until a query that writes files has so many results. Returns all of them, as `read` does.

        * `rows`: how many results to wait for, in all.
        * `timeout`: how long at most.

        `HeadgateError` if there are fewer when the time is over, or when no more will come.

        >>> warm.wait(rows=1, timeout="1 min").num_rows
        1
        """
        with located("rows"):
            wanted = whole(rows, 0)
        deadline = time.monotonic() + arguments.span(timeout, "timeout")
        found, pause = Results(self._connection, self.name), POLL
        while True:
            status = self.status  # before the results are counted: what it has committed by then is among them
            results = found.read()
            if results.num_rows >= wanted:
                return results
            if status.state in NO_MORE or time.monotonic() >= deadline:
                raise self._too_few(results.num_rows, wanted, status)
            time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(1.5 * pause, SLOWEST_POLL)

    def _too_few(self, rows: int, wanted: int, status: StatusLine) -> HeadgateError:
        asked = f"query '{self.name}' has {rows} of {wanted} rows, and "
        if status.state not in NO_MORE:
            return HeadgateError(f"{asked}the timeout is over", hint="wait longer, or for fewer rows")
        reason = f": {status.error}" if status.error else ""
        return HeadgateError(f"{asked}it is {status.state}{reason}", hint="read() gives what is there")

    def pause(self) -> None:
        """Take no more rows until `resume`. Rows that come meanwhile are kept in the stream, and wait.

        >>> warm.pause()
        >>> warm.status.state
        'paused'
        """
        self._connection.send("POST", self._path("pause"))

    def resume(self) -> None:
        """Go on where the query was paused, or suspended after a failure; or start one now that was to start later.

        >>> warm.resume()
        """
        self._connection.send("POST", self._path("resume"))

    def move(self, query_class: str) -> None:
        """Put the query into another class.

        >>> hg.create_class("urgent", priority=60)
        >>> warm.move("urgent")
        >>> warm.status.query_class
        'urgent'
        """
        self._connection.send("POST", self._path("move"), {"class": query_class})

    def replace(self, sql: str) -> None:
        """Give the query other SQL with the same columns. It goes on at the same rows; windows begin there.

        >>> warm.replace("SELECT machine, temp FROM sensors WHERE temp > 60")
        """
        with located("sql"):
            text(sql, "SELECT id FROM sensors WHERE temp > 90")
        self._connection.send("POST", self._path("replace"), {"sql": sql})

    def stop(self) -> None:
        """Remove the query for good. Its results stay, and its name can be used again.

        It returns when its committed results are in its files or its table, so that you can move or remove them then.
        It waits at most ten seconds for a sink that takes longer, and not at all for a function of yours, or for a sink
        that refuses results: they are offered to it again later.

        >>> warm.stop()
        >>> "warm" in hg.queries
        False
        """
        self._connection.send("DELETE", self._path())

    def why(self, at: float | str | None = None, *, last: bool = False) -> Record:
        """Why a result was late: the one that took longest, the newest, or the one on its way at a time.

        * `at`: seconds since the engine started, or text with a unit.
        * `last`: the newest one.

        Returns an object with `sentence`, `seconds`, `parts`, `causes` and `delays`.
        """
        moment = None if at is None else f"{arguments.span(at, 'at'):.9g} s"
        which = {"at": moment, "last": True if last else None}
        return Record(self._connection.get(self._path("why"), which))

    def latency(self, over: float | str = 600.0, step: float | str = 5.0) -> Record:
        """How long its results took lately, step by step, and where that time went.

        * `over`: of how many seconds, or text with a unit; ten minutes are kept.
        * `step`: the length of a step.

        Returns an object with lists of one length: `at`, `results`, `p50`, `p95`, `max`, `mean`, and `parts` by name.
        """
        asked = {"over": arguments.span(over, "over"), "step": arguments.span(step, "step")}
        return Record(self._connection.get(self._path("latency"), asked))

    def _path(self, *parts: str) -> str:
        return path_of("queries", self.name, *parts)


def _batches(events: Iterable[Event], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for event in events:
        if event.kind == "rows":
            rows = json.loads(event.data)["rows"]
            yield from to_arrow(rows, schema).to_batches() if rows else ()


def _need(package: str) -> Any:
    """Import a package that Headgate does without."""
    try:
        return import_module(package)
    except ImportError:
        hint = f"pip install {package}, or use read(), which gives an Arrow table"
        raise HeadgateError(f"{package} is not installed", hint=hint) from None
