"""The server and its Java under kill -9 while rows are pushed and results are followed; then an account.

    python -m tests.server.kill --kills 20 --seed 1

One client pushes batches with an `Idempotency-Key` each, and repeats a batch until it is acknowledged. Another follows
the results of every query as server-sent events, and resumes by the last event's id. Meanwhile the server, or only the
Java process below it, is killed at random moments and the server is started again on its directory. In the end every
acknowledged row must be in the results once, and every follower must have seen every result once, in order.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from tests.server.http_client import Http, Reply

ROOT = Path(__file__).parents[2]
STARTING = 180.0  # seconds that the engine may take to be ready
PATIENCE = 300.0  # seconds for everything to come to its end after the last kill
BATCH = 25  # rows
QUERIES = {
    "copy": "SELECT id, v FROM s",
    "high": "SELECT id FROM s WHERE v >= 5",
    "counts": "SELECT window.start AS t, count(*) AS n FROM s GROUP BY window(ts, '10 seconds')",
}


class ServerProcess:
    """The server as a process group of its own, with the Java process that it starts."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.http = Http(port)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-c", "from headgate.cli.entry import run; run()", "serve"]
        command += ["--data", str(self.folder / "data"), "--bind", f"127.0.0.1:{self.port}"]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """Kill the server and all that it has started."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def kill_java(self) -> bool:
        """Kill the Java process alone; False if there is none yet."""
        assert self._process is not None
        for process in _children(self._process.pid):
            if b"java" in _command(process):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                return True
        return False

    def stop(self) -> int:
        """Ask it to end, as systemd would; returns its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(60)

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + STARTING
        while time.monotonic() < deadline:
            with suppress(OSError, HTTPException):
                if self.http.get("/v1/health/ready", timeout=5).status == 200:
                    return
            assert self._process is not None
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit(f"the server is not ready: {(self.folder / 'log').read_text()[-3000:]}")


def _children(parent: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(word) for word in task.read_text().split()]
    return found + [grandchild for child in found for grandchild in _children(child)]


def _command(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]
    return b""


def batch(index: int) -> list[dict[str, Any]]:
    """The same rows whenever this batch is sent."""
    chance = random.Random(index)
    return [{"id": index * BATCH + n, "v": chance.randrange(10), "ts": index * 2.0 + n / BATCH} for n in range(BATCH)]


class Pusher(threading.Thread):
    """Pushes batch after batch; a batch is repeated with the same key until the server has acknowledged it."""

    def __init__(self, http: Http) -> None:
        super().__init__(daemon=True)
        self._http = http
        self.acknowledged = 0
        self.problem = ""
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.is_set():
            lines = "".join(json.dumps(row) + "\n" for row in batch(self.acknowledged))
            reply = self._sent(lines)
            if reply is None or reply.status in (429, 503):
                time.sleep(0.05)
            elif reply.status == 200 and reply.json["rejected"] == 0:
                self.acknowledged += 1
                time.sleep(0.02)
            else:
                self.problem = f"push of batch {self.acknowledged}: {reply.status} {reply.body[:500]!r}"
                return

    def _sent(self, lines: str) -> Reply | None:
        key = {"Idempotency-Key": f"batch-{self.acknowledged}"}
        try:
            return self._http.post("/v1/streams/s/rows", lines, kind="application/x-ndjson", headers=key, timeout=30)
        except (OSError, HTTPException):
            return None

    def end(self) -> None:
        self._over.set()
        self.join()


class Follower(threading.Thread):
    """Follows the results of a query from the start, and resumes after every break by the id of the last event."""

    def __init__(self, port: int, query: str) -> None:
        super().__init__(daemon=True)
        self._port, self._query = port, query
        self.rows: list[dict[str, Any]] = []
        self.last_id = ""
        self.breaks = 0
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.is_set():
            try:
                for name, identity, data in self._events():
                    if name in ("rows", "message", ""):
                        self.rows += json.loads(data)["rows"]
                    if identity:
                        self.last_id = identity
            except (OSError, HTTPException, ValueError):
                pass
            self.breaks += 1
            time.sleep(0.05)

    def _events(self) -> Iterator[tuple[str, str, str]]:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=20)
        try:
            headers = {"Last-Event-ID": self.last_id} if self.last_id else {}
            connection.request("GET", f"/v1/queries/{self._query}/results/stream?from=start", headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                return
            fields: dict[str, str] = {}
            while (line := response.readline()) and not self._over.is_set():
                text = line.decode().rstrip("\n")
                if text and not text.startswith(":"):
                    name, _, value = text.partition(": ")
                    fields[name] = value
                elif not text and fields:  # an event that a break has cut off has no blank line behind it
                    if "data" in fields:
                        yield fields.get("event", ""), fields.get("id", ""), fields["data"]
                    fields = {}
        finally:
            connection.close()

    def end(self) -> None:
        self._over.set()


def prepare(http: Http) -> None:
    """Declare the stream and the queries; what an early kill has prevented is declared again."""
    http.post("/v1/streams", {"name": "s", "schema": "id bigint, v bigint, ts timestamp", "event_time": "ts"})
    for name, sql in QUERIES.items():
        http.post("/v1/queries", {"name": name, "sql": sql, "since": "start"})


def results(http: Http, query: str) -> list[dict[str, Any]]:
    """All results of a query, page by page."""
    rows: list[dict[str, Any]] = []
    cursor = ""
    while True:
        reply = http.get(f"/v1/queries/{query}/results?limit=1000" + (f"&cursor={cursor}" if cursor else ""))
        page = reply.json
        if not page["rows"]:
            return rows
        rows += page["rows"]
        cursor = page["next"]


def expected(query: str, rows: list[dict[str, Any]]) -> Counter[str]:
    """What a query must have given, computed without Spark."""
    if query == "copy":
        return Counter(_text({"id": row["id"], "v": row["v"]}) for row in rows)
    if query == "high":
        return Counter(_text({"id": row["id"]}) for row in rows if row["v"] >= 5)
    windows = Counter(int(row["ts"] // 10) * 10 for row in rows)
    return Counter(
        _text({"t": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(start)), "n": count})
        for start, count in windows.items()
    )


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def compared(name: str, actual: Counter[str], wanted: Counter[str]) -> list[str]:
    lost, doubled = (wanted - actual).total(), (actual - wanted).total()
    return [f"{name}: {lost} lost, {doubled} doubled or not asked for"] if lost or doubled else []


def campaign(kills: int, seed: int) -> int:
    chance = random.Random(seed)
    began = time.monotonic()
    deaths: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        server = ServerProcess(Path(name), _free_port())
        server.start()
        followers = {query: Follower(server.port, query) for query in QUERIES}
        pusher = Pusher(server.http)
        try:
            server.wait_until_ready()
            prepare(server.http)
            for thread in (pusher, *followers.values()):
                thread.start()
            for number in range(1, kills + 1):
                deaths[_death(server, chance)] += 1
                print(f"\r{number} of {kills} kills", end="", file=sys.stderr, flush=True)
            print(file=sys.stderr)
            server.wait_until_ready()
            pusher.end()
            wrong = [pusher.problem] if pusher.problem else account(server.http, pusher.acknowledged, followers)
            code = server.stop()
            wrong += [f"the server ended with {code} after SIGTERM"] if code != 128 + signal.SIGTERM else []
        except BaseException:
            print((server.folder / "log").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            for follower in followers.values():
                follower.end()
            with suppress(ProcessLookupError):
                server.kill()
    followed = sum(len(follower.rows) for follower in followers.values())
    print(
        f"{deaths.total()} kills ({', '.join(f'{count} of {what}' for what, count in sorted(deaths.items()))}); "
        f"{pusher.acknowledged * BATCH} rows acknowledged, {followed} results followed over "
        f"{sum(follower.breaks for follower in followers.values())} breaks, {time.monotonic() - began:.0f} s: "
        f"{'; '.join(wrong) or 'none lost, none doubled'}"
    )
    return 1 if wrong else 0


def _death(server: ServerProcess, chance: random.Random) -> str:
    """Kill something at a random moment, and start the server again if it is gone."""
    if chance.random() < 0.7:  # otherwise also while the engine starts
        server.wait_until_ready()
    time.sleep(chance.uniform(0.0, 4.0))
    if chance.random() < 0.4 and server.kill_java():
        return "Java"
    server.kill()
    server.start()
    return "the server"


def account(http: Http, batches: int, followers: dict[str, Follower]) -> list[str]:
    """What is lost or doubled, once everything that was acknowledged has been taken."""
    rows = [row for index in range(batches) for row in batch(index)]
    stream = http.get("/v1/streams/s").json
    wrong = [] if stream["tuples"] == len(rows) else [f"the stream has {stream['tuples']} rows, not {len(rows)}"]
    http.post("/v1/streams/s/finish")
    for query in QUERIES:
        wanted = expected(query, rows)
        _settled(http, query, wanted.total(), followers[query])
        found = results(http, query)
        wrong += compared(query, Counter(map(_text, found)), wanted)
        if followers[query].rows != found:
            wrong.append(
                f"{query}: its follower saw {len(followers[query].rows)} results of {len(found)}, or in another order"
            )
    return wrong


def _settled(http: Http, query: str, wanted: int, follower: Follower) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if len(follower.rows) >= wanted and http.get(f"/v1/queries/{query}").json["waiting"] == 0:
            return
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    return campaign(chosen.kills, chosen.seed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
