"""What an open page of the dashboard costs, with 1000 queries and about 20 runs a second.

    python -m benchmarks.dashboard                       a quarter of an hour
    python -m benchmarks.dashboard --minutes 2 --queries 200

It prints, measured in one run on loopback with a real engine and Chromium:

* how long it takes from asking for the page until a click sorts the table of all queries;
* how large the scripts are, compressed;
* what share of a core the server takes more with a page open than without, and what Chromium takes, for each pane;
* how much memory the page's scripts hold after each minute, garbage collected.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.server import Client, Pushing, cpu_of, served
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parent.parent
BUILT = ROOT / "src/headgate/server/web/assets"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
CLASSES = {"critical": 60, "normal": 30, "background": 10}
STRETCH = 30.0  # seconds
BUSY = 60  # queries whose stream gets rows seven times a second: three groups, so 20 runs; the others' every 5 s
PANES = ("/", "/queries", "/timeline")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the page's memory is watched")
    options = parser.parse_args()
    scripts()
    with served() as (port, process):
        start(Client(port), options.queries)
        pushing = [Pushing(port, 20, 1 / 7, "s"), Pushing(port, 20, 5.0, "t")]
        time.sleep(60)  # Java compiles what it runs
        try:
            measure(port, process, options.queries, options.minutes)
        finally:
            for one in pushing:
                one.end()


def scripts() -> None:
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in BUILT.glob("*.js")}
    largest, size = max(sizes.items(), key=lambda item: item[1])
    print(f"scripts, compressed: {sum(sizes.values()) / 1000:.0f} kB in all (wanted: under 500), the largest file "
          f"{largest} {size / 1000:.0f} kB")  # fmt: skip


def start(client: Client, queries: int) -> None:
    schema = "id bigint, v double, s string, ts timestamp"
    for stream in ("s", "t"):
        client.post("/v1/streams", {"name": stream, "schema": schema})
    for name, priority in CLASSES.items():
        client.post("/v1/classes", {"name": name, "priority": priority})
    began = time.perf_counter()
    for number in range(queries):
        chosen = list(CLASSES)[number % len(CLASSES)]
        stream = "s" if number < BUSY else "t"
        sql = f"SELECT id, v FROM {stream} WHERE v > {number % 100} AND id % 7 = {number % 7}"
        client.post("/v1/queries", {"name": f"q{number}", "sql": sql, "class": chosen, "target": "p95 5 s"})
    print(f"{queries} queries submitted in {time.perf_counter() - began:.0f} s")


def measure(port: int, process: int, queries: int, minutes: float) -> None:
    client = Client(port)
    before = client("GET", "/v1/status")
    alone = share(process, STRETCH)
    runs = runs_since(before, port)
    print(f"{queries} queries, {runs:.1f} runs a second; the server without a page: {alone:.0%} of a core")
    with chromium() as (opened, browser_processes):
        interactive(opened(), port, queries)
        for pane in PANES:
            page = opened()
            page.goto(f"http://127.0.0.1:{port}{pane}")
            page.wait_for_timeout(5000)
            before = Client(port)("GET", "/v1/status")
            with_page, browser = shares(process, browser_processes, STRETCH)
            runs = runs_since(before, port)
            page.close()
            time.sleep(2)
            before = Client(port)("GET", "/v1/status")
            without = share(process, STRETCH)
            usual = runs_since(before, port)
            print(
                f"{pane}: the server takes {with_page - without:+.1%} of a core more ({without:.0%} → {with_page:.0%}; "
                f"wanted: under 10 %) at {usual:.1f} → {runs:.1f} runs a second, Chromium {browser:.1%} "
                "(wanted: under 30 %)"
            )
        memory(opened(), port, minutes)


def runs_since(before: dict[str, Any], port: int) -> float:
    """Runs a second since a status."""
    now = Client(port)("GET", "/v1/status")
    return float((now["runs"] - before["runs"]) / (now["at"] - before["at"]))


def interactive(page: Page, port: int, queries: int) -> None:
    took = []
    for _ in range(5):
        began = time.perf_counter()
        page.goto(f"http://127.0.0.1:{port}/queries", wait_until="commit")
        heading = page.get_by_role("button", name="Query", exact=False).first
        page.get_by_role("link", name="q0", exact=True).wait_for(timeout=30_000)
        heading.click()
        page.locator("th[aria-sort]").first.wait_for(timeout=30_000)
        took.append(time.perf_counter() - began)
    print(
        f"until a click sorts {queries} queries: median {statistics.median(took):.2f} s, worst {max(took):.2f} s "
        "(wanted: 2 s)"
    )
    page.close()


def memory(page: Page, port: int, minutes: float) -> None:
    page.goto(f"http://127.0.0.1:{port}/queries")
    devtools = page.context.new_cdp_session(page)
    held = []
    for minute in range(round(minutes) + 1):
        page.wait_for_timeout(60_000 if minute else 20_000)
        devtools.send("HeapProfiler.collectGarbage")
        held.append(devtools.send("Runtime.getHeapUsage")["usedSize"] / 1e6)
    print(f"memory of the page's scripts after each minute, MB: {', '.join(f'{size:.1f}' for size in held)}")
    print(f"  from the first minute to the last: {held[-1] / held[min(1, len(held) - 1)]:.2f} times")


@contextmanager
def chromium() -> Iterator[tuple[Callable[[], Page], Callable[[], float]]]:
    """Opens pages, and tells the CPU seconds of all the browser's processes."""
    known = set(children_named("chrom"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        context = browser.new_context(viewport={"width": 1280, "height": 860})
        yield context.new_page, lambda: sum(cpu(pid) for pid in children_named("chrom") - known)
        browser.close()


def children_named(name: str) -> set[int]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            if name in path.read_text():
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


def cpu(process: int) -> float:
    try:
        return cpu_of(process)
    except OSError:
        return 0.0


def share(process: int, seconds: float) -> float:
    """The share of a core that a process takes."""
    return shares(process, lambda: 0.0, seconds)[0]


def shares(process: int, browser: Callable[[], float], seconds: float) -> tuple[float, float]:
    """The shares of a core that the server and the browser take in the same stretch."""
    began, server, seen = time.perf_counter(), cpu_of(process), browser()
    time.sleep(seconds)
    took = time.perf_counter() - began
    return (cpu_of(process) - server) / took, (browser() - seen) / took


if __name__ == "__main__":
    main()
