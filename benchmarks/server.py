"""What the server adds to the engine: ratios measured in one run, on loopback.

    python benchmarks/server.py                          everything, about ten minutes
    python benchmarks/server.py push listeners           some of it

* `push`: rows a second from one client into the durable log as JSON lines, beside a bare FastAPI endpoint that only
  parses the same bodies with the same parser; as Arrow streams, beside `Session.append` of the same batches.
* `list`: how long a list of 1000 queries takes.
* `listeners`: the CPU of the server with 100 listeners of results and events, and without, and what becomes of the
  engine's latency.
* `saturated`: how long the API takes to answer while Spark has more to do than it can.

The server and the bare endpoint run in processes of their own, as they do for users.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pyarrow as pa
from fastapi import Request  # here, since FastAPI looks annotations up in the module

SCHEMA = "id bigint, v double, s string, ts timestamp"
FIELDS = pa.schema([("id", pa.int64()), ("v", pa.float64()), ("s", pa.string()), ("ts", pa.timestamp("us", "UTC"))])
ROWS = 5_000  # of one body
BODIES = 40
ARROW_ROWS = 50_000
LISTENERS = 100


class Client:
    """One connection that is kept open."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=120)

    def __call__(self, method: str, path: str, body: bytes | str | None = None, kind: str = "application/json") -> Any:
        headers = {} if body is None else {"Content-Type": kind}
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        data = response.read()
        if response.status >= 400:
            raise SystemExit(f"{method} {path}: {response.status} {data[:500]!r}")
        return json.loads(data)

    def post(self, path: str, tree: Any) -> Any:
        return self("POST", path, json.dumps(tree))


def lines(first: int, rows: int = ROWS) -> bytes:
    return b"".join(
        b'{"id":%d,"v":%d.5,"s":"machine-%d","ts":"2026-01-01T00:%02d:%02dZ"}\n'
        % (n, n % 100, n % 50, n // 60 % 60, n % 60)
        for n in range(first, first + rows)
    )


def arrow(first: int, rows: int = ARROW_ROWS) -> pa.Table:
    ids = range(first, first + rows)
    moments = pa.array([1_767_225_600_000_000 + n for n in ids], pa.timestamp("us", "UTC"))
    columns = [pa.array(ids, pa.int64()), pa.array([n % 100 + 0.5 for n in ids]), pa.array([f"m{n % 50}" for n in ids])]
    return pa.Table.from_arrays([*columns, moments], schema=FIELDS)


def as_stream(table: pa.Table) -> bytes:
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    return bytes(target.getvalue())


# -- processes -----------------------------------------------------------------------------------------------------


@contextmanager
def served(*options: str) -> Iterator[tuple[int, int]]:
    """A server in a process of its own: its port and its process."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "log", "wb") as log:
        command = [sys.executable, "-c", "from headgate.cli.entry import run; run()", "serve", *options]
        command += ["--data", f"{folder}/data", "--bind", f"127.0.0.1:{port}"]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_for(port, "/v1/health/ready")
            yield port, process.pid
        finally:
            process.terminate()
            process.wait(60)


def bare(port: int) -> None:
    """The yardstick: FastAPI and uvicorn as the server has them, and nothing but the parser."""
    import uvicorn
    from fastapi import FastAPI
    from starlette.concurrency import run_in_threadpool

    from headgate.model import Stream
    from headgate.spark.ingest.parsing.pushed import json_lines_bytes

    app = FastAPI()
    stream = Stream(name="s", schema=tuple(tuple(column.split()) for column in SCHEMA.split(", ")))  # type: ignore[misc]

    @app.get("/v1/health/ready")
    def ready() -> dict[str, str]:
        return {}

    @app.post("/rows")
    async def rows(request: Request) -> dict[str, int]:
        body = await request.body()
        table, bad = await run_in_threadpool(json_lines_bytes, body, stream)
        return {"accepted": table.num_rows, "rejected": len(bad)}

    uvicorn.run(app, port=port, loop="uvloop", http="httptools", log_config=None, access_log=False)


@contextmanager
def bare_endpoint() -> Iterator[int]:
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=bare, args=(port,), daemon=True)
    process.start()
    try:
        wait_for(port, "/v1/health/ready")
        yield port
    finally:
        process.terminate()
        process.join()


def wait_for(port: int, path: str) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        with suppress(OSError, HTTPException):
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        time.sleep(0.2)
    raise SystemExit(f"nothing answers at port {port}")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def cpu_of(process: int) -> float:
    """Seconds of CPU that a process has had."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- what is measured ----------------------------------------------------------------------------------------------


def push() -> None:
    bodies = [lines(n * ROWS) for n in range(BODIES)]
    streams = [as_stream(arrow(n * ARROW_ROWS)) for n in range(20)]
    with served() as (port, _), bare_endpoint() as bare_port:
        client, yardstick = Client(port), Client(bare_port)
        client.post("/v1/streams", {"name": "s", "schema": SCHEMA})
        client.post("/v1/streams", {"name": "t", "schema": SCHEMA})
        kind = "application/x-ndjson"
        rates: dict[str, list[float]] = {"server": [], "bare": [], "arrow": []}
        for _ in range(5):  # in turn, so that a busy moment of the machine hits both
            rates["bare"].append(rate(bodies, ROWS, lambda body: yardstick("POST", "/rows", body, kind)))
            rates["server"].append(rate(bodies, ROWS, lambda body: client("POST", "/v1/streams/s/rows", body, kind)))
        arrow_kind = "application/vnd.apache.arrow.stream"
        for _ in range(5):
            rates["arrow"].append(
                rate(streams, ARROW_ROWS, lambda body: client("POST", "/v1/streams/t/rows", body, arrow_kind))
            )
    print("push of JSON lines from one client, rows a second (best of five):")
    tell("into the durable log", max(rates["server"]), "bare endpoint that only parses", max(rates["bare"]), 0.5)
    own = append_rate()
    print("push of Arrow streams from one client, rows a second (best of five):")
    tell("into the durable log", max(rates["arrow"]), "Session.append of the same batches", own, 0.7)


def append_rate() -> float:
    import headgate

    tables = [arrow(n * ARROW_ROWS) for n in range(20)]
    with tempfile.TemporaryDirectory() as folder, headgate.Session(directory=folder) as session:
        session.stream("t", SCHEMA)
        return max(rate(tables, ARROW_ROWS, lambda table: session.append("t", table)) for _ in range(5))


def rate(bodies: list[Any], rows: int, send: Callable[[Any], object]) -> float:
    began = time.perf_counter()
    for body in bodies:
        send(body)
    return len(bodies) * rows / (time.perf_counter() - began)


def tell(what: str, here: float, other: str, there: float, wanted: float) -> None:
    print(f"  {what} {here:,.0f}, {other} {there:,.0f}: {here / there:.2f} of it (wanted: at least {wanted})")


def listing(queries: int = 1000) -> None:
    with served() as (port, _):
        client = Client(port)
        client.post("/v1/streams", {"name": "s", "schema": SCHEMA})
        began = time.perf_counter()
        for number in range(queries):
            client.post("/v1/queries", {"name": f"q{number}", "sql": f"SELECT id, v FROM s WHERE v > {number}"})
        print(f"{queries} queries submitted in {time.perf_counter() - began:.0f} s")
        client("POST", "/v1/streams/s/rows", lines(0, 1000), "application/x-ndjson")
        time.sleep(5)
        took = timed(lambda: client("GET", f"/v1/queries?limit={queries}"), 50, pause=0.3)
        print(f"a list of {queries} queries: {told(took)} (wanted: p95 under 100 ms)")


def listeners() -> None:
    with served() as (port, process):
        client = Client(port)
        client.post("/v1/streams", {"name": "s", "schema": SCHEMA})
        for number in range(10):
            client.post("/v1/queries", {"name": f"q{number}", "sql": f"SELECT id, v FROM s WHERE v > {number * 10}"})
        pushing = Pushing(port)
        time.sleep(40)  # Java compiles what it runs; and a connection that nobody uses is closed meanwhile
        client = Client(port)
        for round_number in (1, 2):
            without = _stretch(client, process)
            with listening(port):
                time.sleep(3)
                along = _stretch(client, process)
            more, ratio = along[0] - without[0], along[1] / without[1]
            print(
                f"{LISTENERS} listeners, round {round_number}: {more:.1%} of a core more "
                f"({without[0]:.1%} → {along[0]:.1%}; wanted: under 20 %), mean response time "
                f"{without[1] * 1000:.0f} → {along[1] * 1000:.0f} ms, {ratio:.2f} times (wanted: at most 1.10)"
            )
        pushing.end()


def _stretch(client: Client, process: int, seconds: float = 20.0) -> tuple[float, float]:
    """The share of a core that the server takes, and the mean response time of results meanwhile."""
    began, before = time.perf_counter(), cpu_of(process)
    means = []
    while time.perf_counter() - began < seconds:
        time.sleep(5)
        status = client("GET", "/v1/status")
        means += [part["latency"]["last_10_s"].get("mean") for part in status["classes"].values()]
    share = (cpu_of(process) - before) / (time.perf_counter() - began)
    return share, statistics.mean(mean for mean in means if mean)


class Pushing:
    """A client that pushes 500 rows into a stream every quarter of a second."""

    def __init__(self, port: int, rows: int = 500, every: float = 0.25, stream: str = "s") -> None:
        self._client, self._rows, self._every = Client(port), rows, every
        self._path = f"/v1/streams/{stream}/rows"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        first = 0
        while not self._over.wait(self._every):
            self._client("POST", self._path, lines(first, self._rows), "application/x-ndjson")
            first += self._rows

    def end(self) -> None:
        self._over.set()
        self._thread.join()


@contextmanager
def listening(port: int) -> Iterator[None]:
    """A process with listeners: nine in ten of results, the rest of events."""
    process = multiprocessing.get_context("spawn").Process(target=_listen, args=(port,), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def _listen(port: int) -> None:
    import asyncio

    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        path = "/v1/events" if number % 10 == 0 else f"/v1/queries/q{number % 10}/results/stream"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        while await reader.read(1 << 16):
            pass

    async def every() -> None:
        await asyncio.gather(*map(one, range(LISTENERS)))

    asyncio.run(every())


def saturated() -> None:
    with served() as (port, _):
        client = Client(port)
        client.post("/v1/streams", {"name": "s", "schema": SCHEMA, "event_time": "ts", "ahead": "none"})
        for number in range(20):
            join = "SELECT a.id, b.v FROM s a JOIN s b ON a.s = b.s AND b.ts BETWEEN a.ts - INTERVAL 2 SECONDS AND a.ts"
            client.post("/v1/queries", {"name": f"q{number}", "sql": f"{join} WHERE a.v > {number}"})
        pushing = Pushing(port, 2000, 0.1)
        time.sleep(30)
        client = Client(port)  # the server closes connections that are idle for so long
        waiting = sum(line["waiting"] for line in client("GET", "/v1/status")["queries"].values())
        for path in ("/v1/health/live", "/v1/queries/q1", "/v1/queries", "/v1/streams/s", "/v1/status"):
            took = timed(lambda path=path: client("GET", path), 150, pause=0.05)  # type: ignore[misc]
            print(f"GET {path} while {waiting:,} tuples wait: {told(took)} (wanted: p99 under 200 ms)")
        pushing.end()


def timed(call: Callable[[], object], times: int, pause: float) -> list[float]:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
        time.sleep(pause)
    return took


def told(took: list[float]) -> str:
    cuts = statistics.quantiles(took, n=100)
    return f"p50 {cuts[49] * 1000:.0f} ms, p95 {cuts[94] * 1000:.0f} ms, p99 {cuts[98] * 1000:.0f} ms"


PARTS = {"push": push, "list": listing, "listeners": listeners, "saturated": saturated}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"which of {', '.join(PARTS)}; all if not given")
    for name in parser.parse_args().parts or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
