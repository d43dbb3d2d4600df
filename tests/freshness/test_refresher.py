from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from headgate.freshness import Elements
from headgate.freshness.refresher.loop import Refresher
from headgate.freshness.refresher.sources import CopyVersion, Fetched, FunctionSource, HttpSource, SourceError
from headgate.freshness.refresher.store import Store
from headgate.model import HeadgateError


class Site:
    """Documents that change, served with or without marks."""

    def __init__(self, marks: str = "etag") -> None:
        self.versions: Counter[str] = Counter()
        self.answers: Counter[int] = Counter()
        self.marks = marks
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/{name}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        name = request.path.removeprefix("/")
        if name == "gone":
            self.reply(request, 404, {}, b"")
            return
        version = self.versions[name]
        etag, modified = f'"{version}"', f"Thu, 01 Jan 2026 00:00:{version % 60:02d} GMT"
        headers = {"etag": {"ETag": etag}, "modified": {"Last-Modified": modified}}.get(self.marks, {})
        asked = (request.headers.get("If-None-Match"), request.headers.get("If-Modified-Since"))
        if (headers.get("ETag") or headers.get("Last-Modified") or "?") in asked:
            self.reply(request, 304, headers, b"")
        else:
            self.reply(request, 200, headers, f"{name} {version}".encode())

    def reply(self, request: BaseHTTPRequestHandler, code: int, headers: dict[str, str], body: bytes) -> None:
        self.answers[code] += 1
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name, value)
        if code != 304:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("marks", ["etag", "modified", "none"])
def test_conditional_requests(marks: str) -> None:
    site = Site(marks)
    try:
        source, version = HttpSource(), CopyVersion()
        first = source.fetch(site.url("a"), version)
        again = source.fetch(site.url("a"), first.version)
        site.versions["a"] += 1
        other = source.fetch(site.url("a"), again.version)
    finally:
        site.close()
    assert (first.body, other.body) == (b"a 0", b"a 1")
    assert [first.changed(version), again.changed(first.version), other.changed(again.version)] == [True, False, True]
    assert site.answers == ({200: 3} if marks == "none" else {200: 2, 304: 1})


def test_what_cannot_be_fetched(site: Site) -> None:
    for url, message in (
        (site.url("gone"), "404"),
        ("file:///etc/hosts", "no http"),
        ("http://127.0.0.1:1/", "refused"),
    ):
        with pytest.raises(SourceError, match=message):
            HttpSource().fetch(url, CopyVersion())


def test_functions() -> None:
    assert FunctionSource(str.upper).fetch("a", CopyVersion()).body == b"A"
    with pytest.raises(SourceError, match="ZeroDivisionError"):
        FunctionSource(lambda key: str(1 / 0)).fetch("a", CopyVersion())
    with pytest.raises(HeadgateError, match=r"there is no function 'no\.module:f'"):
        FunctionSource.named("no.module:f")


def changing(rates: dict[str, float], clock: Clock, seed: int = 1) -> FunctionSource:
    """A source whose elements change at some rates per second of a clock."""
    rng = np.random.default_rng(seed)
    times = {key: np.cumsum(rng.exponential(1 / rate, 5_000)) + clock() for key, rate in rates.items()}
    return FunctionSource(lambda key: str(np.searchsorted(times[key], clock())))


def test_rates_are_learned_and_the_plan_follows(tmp_path: Path) -> None:
    clock, true = Clock(), {"slow": 0.2, "fast": 2.0}
    store = Store(tmp_path)
    store.enter(Elements.of([1.0, 1.0], [1, 1], ids=list(true)))
    refresher = Refresher(store, changing(true, clock), 2.0, period=1.0, replan=20.0, clock=clock, sleep=clock.sleep)
    tally = refresher.run(400.0)
    learned = dict(zip(store.keys(), store.learned().change_rate, strict=True))
    assert learned["slow"] == pytest.approx(0.2, rel=0.35)
    assert learned["fast"] == pytest.approx(2.0, rel=0.35)
    assert 700 <= tally.visits.total() <= 810  # two a period is the bandwidth
    assert tally.plans == 20
    store.close()


def test_copies_are_kept_and_failures_recorded(tmp_path: Path, site: Site) -> None:
    clock, urls = Clock(), [site.url("a"), site.url("gone")]
    store = Store(tmp_path)
    store.enter(Elements.of([1.0, 1.0], [1, 1], ids=urls))
    refresher = Refresher(store, HttpSource(), 4.0, period=1.0, clock=clock, sleep=clock.sleep)
    refresher.run(3.0)
    assert store.path(urls[0]).read_bytes() == b"a 0"
    site.versions["a"] += 1
    refresher.run(3.0)
    assert store.path(urls[0]).read_bytes() == b"a 1"
    assert not store.path(urls[1]).exists()
    assert {visit.error for visit in store.visits() if visit.number == 1} == {"the server says 404"}
    assert refresher.tally.visits["changed"] == 2
    assert refresher.tally.visits["failed"] > 0
    store.close()


def test_a_change_is_not_lost_when_the_record_is(tmp_path: Path) -> None:
    """The copy was written, then the process died: the next visit records the change."""
    store = Store(tmp_path)
    store.enter(Elements.of([1.0], [1], ids=["k"]))
    store.path("k").write_bytes(b"new")
    fetched = FunctionSource(lambda key: "new").fetch("k", store.version(0))
    assert isinstance(fetched, Fetched)
    assert fetched.changed(store.version(0))
    store.close()


@pytest.mark.slow
def test_another_table_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.enter(Elements.of([1.0], [1], ids=["a"]))
    with pytest.raises(HeadgateError, match="other elements"):
        store.enter(Elements.of([1.0], [1], ids=["b"]))
    with pytest.raises(HeadgateError, match="cannot be opened"):
        Store(tmp_path)
    store.close()


def test_names_of_copies(tmp_path: Path) -> None:
    store = Store(tmp_path)
    names = ["../x", ".", "a/b", "é" * 200, "é" * 199 + "e"]
    paths = {store.path(name) for name in names}
    assert len(paths) == len(names)
    assert all(path.parent == store.copies and len(path.name) < 255 for path in paths)
    store.close()


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path: Path, site: Site) -> None:
    table = tmp_path / "pages.csv"
    table.write_text(f"id,change_rate,access\n{site.url('a')},1,1\n{site.url('b')},1,1\n", encoding="utf-8")
    words = ("fresh", "run", str(table), "-b", "40", "--period", "1 s", "--dir", str(tmp_path / "mirror"))
    code = f"import sys; sys.argv = ['headgate', *{words!r}, '--for', sys.argv[1], '--json']\n"
    command = [sys.executable, "-c", code + "from headgate.cli.entry import run; run()"]
    with subprocess.Popen([*command, "60 s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while site.answers.total() < 20 and time.monotonic() < deadline:
            site.versions["a"] += 1
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    assert site.answers.total() >= 20
    site.versions["b"] += 7
    done = subprocess.run([*command, "1 s"], capture_output=True, text=True, timeout=60, check=True)
    assert '"failed": 0' in done.stdout
    store = Store(tmp_path / "mirror")
    assert store.path(site.url("b")).read_bytes() == b"b 7"
    assert store.path(site.url("a")).read_bytes() == f"a {site.versions['a']}".encode()
    assert len(store.visits()) >= 19 + 20
    store.close()
