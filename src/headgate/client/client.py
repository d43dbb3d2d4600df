"""`Client`, the Python interface of a server: the words of `headgate.Session`, over HTTP."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import inf
from os import PathLike
from typing import Any

import pyarrow as pa

from headgate.client import arguments
from headgate.client.address import find
from headgate.client.connection import KEY, Connection, Request, path_of
from headgate.client.following import Following
from headgate.client.handle import Handle
from headgate.client.records import Record, Status
from headgate.client.rows import Body, bodies_of
from headgate.model import BusyError, HeadgateError, Stream, check_name
from headgate.model.values import UNCHANGED, located, text

PATIENCE = "60 s"
POLL, SLOWEST_POLL = 0.05, 0.5  # seconds between two looks


class Client:
    """A server that runs `headgate serve`: declare streams, start queries, feed rows, read results.

    The words are those of `headgate.Session`; docs/client.md lists what differs, and why.

    * `url`: the server's address, as "http://127.0.0.1:8440". Without one, that of the variable HEADGATE_SERVER, of the
      profile file, or this one.
    * `token`: what to prove oneself with. Without one, that of HEADGATE_TOKEN, or of the profile with this address.
    * `profile`: the server and token of this name in `~/.config/headgate/config.toml`.
    * `ca`: a file with the authority that signed the server's certificate, if the system does not know it.
    * `patience`: how long to wait for a server whose engine starts, or that was there before and is away.

    A wrong value raises `HeadgateError` with the server's text. If the connection breaks, requests that read are sent
    again, and so are those that create something or push rows: a key makes sure that nothing is done twice.

    >>> import headgate
    >>> hg = headgate.Client("http://127.0.0.1:8440")
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        profile: str | None = None,
        ca: str | None = None,
        patience: float | str = PATIENCE,
    ) -> None:
        address = find(url, token, profile, ca)
        for note in address.notes:
            warnings.warn(note, stacklevel=2)
        self.connection = Connection(address, arguments.span(patience, "patience"))

    @property
    def url(self) -> str:
        """The address of the server."""
        return self.connection.address.url

    def __repr__(self) -> str:
        return f"<{'closed ' if self.connection.closed else ''}client of {self.url}>"

    # -- streams, tables, classes and queries ------------------------------------------------------------------

    def stream(
        self,
        name: str,
        schema: str | Sequence[tuple[str, str]],
        *,
        source: str | None = None,
        event_time: str | None = None,
        watermark: float | str = 0.0,
        ahead: float | str | None = None,
    ) -> None:
        """Declare a stream: rows with named, typed columns that come one after the other.

        * `name`: what SQL calls it.
        * `schema`: columns and their types in Spark's words, as text or as pairs.
        * `source`: where the server reads the rows, as "poisson, rate=500". Without one, `append` feeds it.
        * `event_time`: the timestamp column that windows and time bounds use.
        * `watermark`: how far an event time may be behind the largest so far before its row is late.
        * `ahead`: how far it may be ahead of its arrival; a row beyond that is a dead letter.

        >>> hg.stream("readings", "machine string, temp double, ts timestamp", event_time="ts", watermark="5 s")
        """
        fields = arguments.given(
            name=check_name(name, "the name of a stream"),
            schema=arguments.schema_text(schema),
            source=arguments.optional_text(source, "source", "poisson, rate=500"),
            event_time=arguments.optional_text(event_time, "event_time", "ts"),
            watermark=watermark,
            ahead=ahead,
        )
        self.connection.send("POST", "/streams", fields, creates=True)

    def drop_stream(self, name: str) -> None:
        """Remove a stream for good, with its rows and dead letters. Results of queries stay.

        `ConflictError` names the queries that read it, if there are any: stop them first.
        """
        self.connection.send("DELETE", path_of("streams", self._name(name, "stream")))

    def table(self, name: str, source: str | PathLike[str]) -> None:
        """Declare a stored table that queries may join with.

        * `name`: what SQL calls it.
        * `source`: the path of a file or folder on the server: Parquet, ORC, CSV with a header, or JSON lines.
        """
        fields = {"name": check_name(name, "the name of a table"), "path": _path(source, name)}
        self.connection.send("POST", "/tables", fields, creates=True)

    def refresh_table(self, name: str) -> None:
        """Read the file or folder of a table anew; queries use the new rows from their next run on."""
        self.connection.send("POST", path_of("tables", self._name(name, "table"), "refresh"))

    def drop_table(self, name: str) -> None:
        """Remove a table. `ConflictError` names the queries that read it, if there are any."""
        self.connection.send("DELETE", path_of("tables", self._name(name, "table")))

    def create_class(
        self, name: str, priority: float, *, lag: str | None = None, target: str | float | None = None
    ) -> None:
        """Declare a class of queries. Classes share the machine by priority, as far as the policy looks at it.

        * `name`: what `query` calls it.
        * `priority`: a number above 0; larger is more important.
        * `lag`: the limit for its queries that have none of their own, see `query`.
        * `target`: likewise, how soon results are wanted.

        >>> hg.create_class("critical", priority=60)
        """
        fields = arguments.given(name=name, priority=priority, lag=lag, target=target)
        self.connection.send("POST", "/classes", fields, creates=True)

    def change_class(
        self,
        name: str,
        *,
        priority: float | None = None,
        lag: str | None = UNCHANGED,
        target: str | float | None = UNCHANGED,
    ) -> None:
        """Change a class while its queries run; they follow at once.

        * `name`: the name of the class.
        * `priority`, `lag`, `target`: as for `create_class`. What is not given stays; None for `lag` or `target` takes
          it away.

        >>> hg.change_class("critical", priority=80)
        """
        changes = arguments.given(priority=priority)
        changes |= {key: value for key, value in (("lag", lag), ("target", target)) if value is not UNCHANGED}
        self.connection.send("PATCH", path_of("classes", self._name(name, "class")), changes)

    def drop_class(self, name: str) -> None:
        """Remove a class. `ConflictError` names the queries that are in it, if there are any."""
        self.connection.send("DELETE", path_of("classes", self._name(name, "class")))

    def query(
        self,
        name: str,
        sql: str,
        *,
        query_class: str | None = None,
        sink: str = "parquet",
        qos: Sequence[Sequence[float]] | None = None,
        since: str = "now",
        once: bool = False,
        start: float | str = 0.0,
        end: float | str = inf,
        lag: str | None = None,
        target: str | float | None = None,
    ) -> Handle:
        """Start a query: a continuous one, or with `once` one that reads what is there and ends. Returns its `Handle`.

        * `name`, `sql`: its name, and a SELECT over streams and tables of the server.
        * `query_class`: its class; without one, "default", which has priority 1.
        * `sink`: where results go: "parquet" or "jsonl" files on the server (exactly once), or another sink.
        * `since`: "now" reads rows that come from now on, "start" also those that the stream has kept.
        * `once`: read all that is kept, then end.
        * `start`, `end`: when it starts and ends, in seconds from now.
        * `lag`: what happens when more rows wait for it, as "skip, tuples=100000".
        * `target`: how soon results are wanted, as "500 ms" or "p99 2 s".
        * `qos`: what a result is worth by its latency in seconds, as `[(0, 1.0), (0.5, 1.0), (2, 0.0)]`.

        `HeadgateError` if the name is in use, or the SQL is refused: the message says which part, and why.

        >>> hot = hg.query("hot", "SELECT machine, temp FROM readings WHERE temp > 90", query_class="critical")
        """
        asked = {"class": query_class, "sink": sink, "qos": qos, "since": since, "once": once, "start": start}
        fields = new_query(name, sql, **asked, end=end, lag=lag, target=target)
        return Handle(self.connection, self.connection.send("POST", "/queries", fields, creates=True))

    def dry_run(self, name: str, sql: str, **settings: Any) -> Record:
        """What a query would become, and whom it would slow down; nothing is started.

        * `name`, `sql`, `settings`: as for `query`.
        """
        settings["class"] = settings.pop("query_class", None)
        fields = new_query(name, sql, **settings)
        return Record(self.connection.send("POST", "/queries", fields, {"dry_run": True}, creates=True))

    def __getitem__(self, name: str) -> Handle:
        """The `Handle` of a query, by its name.

        >>> hg["hot"].name
        'hot'
        """
        return Handle(self.connection, self.connection.get(path_of("queries", self._name(name, "query"))))

    @property
    def queries(self) -> dict[str, Handle]:
        """The handles of all queries, by name.

        >>> sorted(hg.queries)
        ['hot']
        """
        return {one["name"]: Handle(self.connection, one) for one in self.connection.items("/queries")}

    @property
    def streams(self) -> dict[str, Stream]:
        """All streams as `headgate.model.Stream`, by name.

        >>> hg.streams["readings"].columns
        ('machine', 'temp', 'ts')
        """
        return {one["name"]: arguments.stream_of(one) for one in self.connection.items("/streams")}

    @property
    def tables(self) -> dict[str, Record]:
        """All tables, by name."""
        return {one["name"]: Record(one) for one in self.connection.items("/tables")}

    @property
    def classes(self) -> dict[str, Record]:
        """All classes that may be used, by name."""
        return {one["name"]: Record(one) for one in self.connection.items("/classes")}

    # -- data --------------------------------------------------------------------------------------------------

    def append(
        self, stream: str, rows: pa.Table | Iterable[Mapping[str, object] | str], timeout: float | str | None = None
    ) -> int:
        """Append rows to a stream. When this returns they are on the server's disk, and no crash loses them.

        * `stream`: the stream's name.
        * `rows`: a list of mappings or JSON texts; an Arrow table; a DataFrame of pandas, polars or anything else that
          speaks Arrow. Many rows go in several requests.
        * `timeout`: how long to wait if a query's lag limit makes sources wait.

        Returns how many rows were accepted. The others are dead letters with a reason.

        >>> hg.append("readings", [{"machine": "oven", "temp": 97.5, "ts": "2026-01-01T12:00:01Z"}])
        1
        """
        return int(self.push(stream, rows, timeout=timeout).accepted)

    def push(
        self,
        stream: str,
        rows: pa.Table | Iterable[Mapping[str, object] | str],
        *,
        batch: str | None = None,
        timeout: float | str | None = None,
    ) -> Record:
        """Append rows to a stream as `append` does, once even if it is repeated, and tell what became of them.

        * `stream`, `rows`, `timeout`: as for `append`.
        * `batch`: an id of your own. A push whose id the stream remembers changes nothing, also after a crash.

        Returns an object with `accepted` and `rejected` (dead letters now).

        >>> hg.push("readings", ["{"], batch="a-1").rejected
        1
        """
        total = {"accepted": 0, "rejected": 0}
        bodies = list(bodies_of(rows))
        if not bodies:
            self.connection.get(path_of("streams", self._name(stream, "stream")))  # refuses an unknown one
        for number, body in enumerate(bodies):
            part = None if batch is None else f"{_batch(batch)}-{number}" if number else batch
            pushed = self.push_body(stream, body, batch=part, timeout=timeout)
            total = {name: count + pushed[name] for name, count in total.items()}
        return Record(total)

    def push_body(
        self, stream: str, body: Body, *, batch: str | None = None, timeout: float | str | None = None
    ) -> Record:
        """Append the rows of one body, given as it is sent.

        * `stream`, `batch`, `timeout`: as for `push`.
        * `body`: a content type and bytes: JSON lines, CSV with a header, or an Arrow stream.
        """
        path = path_of("streams", self._name(stream, "stream"), "rows")
        headers = {"Content-Type": body[0], KEY: uuid.uuid4().hex if batch is None else _batch(batch)}
        request = Request("POST", path, None, body[1], headers)
        deadline = time.monotonic() + arguments.span(timeout, "timeout")
        pause = POLL
        while True:
            try:
                return Record(self.connection.ask(request).json())
            except BusyError:
                if time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, SLOWEST_POLL)

    def replay(self, stream: str, reason: str = "") -> Record:
        """Append a stream's dead letters to it again, with the checks of any append.

        * `stream`: the stream's name.
        * `reason`: only letters whose reason contains this text.

        Returns an object with `taken` (how many are rows of the stream now), `dead_again` and `left` (by reason).
        """
        if reason != "":
            with located("reason"):
                text(reason, "late")
        path = path_of("streams", self._name(stream, "stream"), "dead-letters", "replay")
        return Record(self.connection.send("POST", path, {"reason": reason}, creates=True))

    def dead_letters(self, stream: str, reason: str | None = None, query: str | None = None) -> Iterator[Record]:
        """The dead letters of a stream, the newest first.

        * `stream`: the stream's name.
        * `reason`, `query`: only letters whose reason contains this text, or of this query.
        """
        path = path_of("streams", self._name(stream, "stream"), "dead-letters")
        return map(Record, self.connection.items(path, {"reason": reason, "query": query}))

    def sample(self, stream: str, rows: int = 20) -> list[Record]:
        """The newest rows of a stream, each with `offset`, `arrival`, `late` and `row`.

        * `stream`, `rows`: the stream's name, and how many.
        """
        path = path_of("streams", self._name(stream, "stream"), "sample")
        return [Record(row) for row in self.connection.get(path, {"limit": rows})["rows"]]

    def finish(self, stream: str) -> None:
        """End a stream: all its windows close, so that their results come. Rows that are appended later are late.

        >>> hg.finish("readings")
        """
        self.connection.send("POST", path_of("streams", self._name(stream, "stream"), "finish"))

    def drain(self, timeout: float | str | None = None) -> bool:
        """Wait until every query has taken all rows that are in its streams. Returns False if the timeout came first.

        >>> hg.drain(timeout="1 min")
        True
        """
        deadline = time.monotonic() + arguments.span(timeout, "timeout")
        pause = POLL
        while not self.connection.get("/drained")["drained"]:
            if time.monotonic() >= deadline:
                return False
            time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(2 * pause, SLOWEST_POLL)
        return True

    # -- scheduling, status, insight ---------------------------------------------------------------------------

    def set_policy(self, policy: str, fuse: str | None = None) -> None:
        """Let another policy decide from now on; queries go on where they are.

        * `policy`: a name with settings, as "hnr, train=500"; over the network no file of your own.
        * `fuse`: which queries share a Spark job: "class", "all" or "off"; without it, as before.

        >>> hg.set_policy("mbd, inversion=dsp", fuse="class")
        """
        with located("policy"):
            text(policy, "hnr, train=500")
        fields = {"policy": policy, **arguments.given(fuse=arguments.optional_text(fuse, "fuse", "class"))}
        self.connection.send("PUT", "/policy", fields)

    @property
    def policy(self) -> Record:
        """The policy that decides, and which queries share a job: `policy` and `fuse`."""
        return Record(self.connection.get("/policy"))

    def set_priority(self, query_class: str, priority: float) -> None:
        """Change the priority of a class, for all its queries.

        * `query_class`: the name of the class.
        * `priority`: a number above 0; larger is more important.

        >>> hg.set_priority("critical", 60)
        """
        self.connection.send("PATCH", path_of("classes", self._name(query_class, "class")), {"priority": priority})

    def status(self) -> Status:
        """How everything is doing now, as a `Status`.

        >>> {line.name: line.state for line in hg.status().queries}
        {'hot': 'running'}
        """
        return Status(self.connection.get("/status"))

    def journal(self, query: str | None = None, last: int | None = None) -> list[Record]:
        """The changes of queries' states, the newest last.

        * `query`: of this query only.
        * `last`: how many, the newest ones.
        """
        newest = list(islice(self.connection.items("/journal", {"query": query}), last))
        return [Record(entry) for entry in reversed(newest)]

    def events(self, timeout: float | str | None = None) -> Iterator[Record]:
        """What happens on the server: the state once, then changes; each has `kind` and `data`.

        * `timeout`: end after this long without an event.
        """
        following = Following(self.connection, "/events", timeout=arguments.span(timeout, "timeout"))
        return (Record({"kind": event.kind, "data": event.data}) for event in following)

    def what_if(self, policies: Sequence[str] = (), **changes: Any) -> Record:
        """What other policies or settings would have made of the last minutes.

        * `policies`: which policies to try.
        * `changes`: `fuse`, `priorities`, `workers`, `added`, `rate`, `last` and `by`, as docs/what-if.md has them.
        """
        return Record(self.connection.send("POST", "/what-if", {"policies": list(policies), **changes}, creates=True))

    def close(self) -> None:
        """Ask no more. The server goes on, and so do its queries.

        >>> hg.close()
        """
        self.connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @staticmethod
    def _name(name: object, kind: str) -> str:
        """A name that may be part of a path."""
        if not isinstance(name, str):
            article = "an" if kind[0] in "aeiou" else "a"
            raise HeadgateError(
                f"the name of {article} {kind} must be text, found {type(name).__name__}", hint="quote it"
            )
        return check_name(name, f"the name of a {kind}")


def client_on(connection: Connection) -> Client:
    """A client on a connection that is there already."""
    client = Client.__new__(Client)
    client.connection = connection
    return client


def new_query(name: str, sql: str, **settings: Any) -> dict[str, Any]:
    """The body of a request for a query."""
    check_name(name, "the name of a query")
    with located("sql"):
        text(sql, "SELECT id FROM sensors WHERE temp > 90")
    if settings.get("end") == inf:
        settings["end"] = None
    return arguments.given(name=name, sql=sql, **settings)


def _batch(batch: object) -> str:
    """The id of a batch, which goes into a header."""
    with located("batch"):
        named = text(batch, "monday-1")
    if not named.isascii() or not named.isprintable():
        raise HeadgateError("must be printable ASCII", where="batch", hint="use letters, digits and '-'")
    return named


def _path(source: Any, name: str) -> str:
    if not isinstance(source, str | PathLike):
        raise HeadgateError(
            f"table '{name}': must be a path on the server, found {type(source).__name__}",
            hint="write the rows to a file that the server sees",
        )
    return str(source)
