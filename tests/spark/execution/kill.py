"""The engine under kill -9: many lives on one data directory, each ended by signal 9, then an account.

    python -m tests.spark.execution.kill --kills 200 --seed 1
    python -m tests.spark.execution.kill --kills 20 --members 200

A life is a process with a Spark of its own that appends and runs twelve queries until it is killed, at a random moment
or at a named point. Lives differ in policy, level and fusion, so that queries are cut, put together and grouped in
between; some have no panes, and some plan every job anew. The last one is left in peace: it ends the stream, and
compares all results with one Spark batch.

With `--members`, so many filters and windows more run in large groups, in lives that do not cut queries.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
from tests.spark.compile.logs import batch_views
from tests.spark.engine.workload import BASE, STREAMS, Case, Row, counted, table

from headgate.core.class_guard import ClassGuard
from headgate.spark.compile.repeated_jobs import OFF
from headgate.spark.jvm.settings import builder
from headgate.spark.machine import maintenance
from headgate.spark.session import Session
from headgate.spark.sinks import files as file_sinks
from headgate.spark.store.kill_points import VARIABLE

ROOT = Path(__file__).parents[3]
POINTS = (
    "commit.append.before",
    "commit.append.half",
    "commit.append.written",
    "commit.append.after",
    "sink.forward.before",
    "sink.forward.half",
    "sink.forward.after",
    "log.append.half",
    "log.append.after",
    "letters.keep.before",
    "letters.keep.after",
    "commit.compact.half",
    "commit.compact.written",
    "sink.compact.half",
    "sink.compact.written",
    "sink.compact.some",
)
_JOIN = "FROM a x JOIN a y ON x.id = y.id AND y.ts BETWEEN x.ts AND x.ts + INTERVAL 1 SECOND"
_NEAR = "FROM a x JOIN a y ON x.v = y.v AND y.ts BETWEEN x.ts - INTERVAL 1 SECOND AND x.ts"
_SLIDING = "GROUP BY window(ts, '4 seconds', '2 seconds')"
_FAILING = {  # on tuples whose v is 0
    "quotient": "SELECT id, 6 / v AS q FROM a",
    "failing sum": f"SELECT window.start AS t, sum(6 / v) AS n FROM a {_SLIDING}",
}
_QUERIES = {
    "filter": "SELECT id, v, ts FROM a WHERE v > 1",
    "copy": "SELECT * FROM a",
    "expressions": "SELECT id + v AS total, coalesce(v, -1) AS v, upper(s) AS s FROM a WHERE id IS NOT NULL",
    "union": "SELECT id, v FROM a WHERE v = 0 UNION ALL SELECT v, id FROM a WHERE id = 1",
    "tumbling": "SELECT window.start AS t, count(*) AS n FROM a GROUP BY window(ts, '3 seconds')",
    "window": "SELECT window.start AS t, id, count(*) AS n, sum(v) AS total FROM a "
    "GROUP BY window(ts, '4 seconds', '2 seconds'), id",
    "having": "SELECT window.end AS t, v, count(*) AS n FROM a WHERE id > 1 GROUP BY window(ts, '2 seconds'), v "
    "HAVING count(*) > 2",
    "distinct": "SELECT DISTINCT window(ts, '4 seconds') AS w, v FROM a",
    "nested": "SELECT window.start AS t, max(n) AS most FROM (SELECT window.start AS began, id, count(*) AS n FROM a "
    "GROUP BY window(ts, '2 seconds'), id) GROUP BY window(began, '6 seconds')",
    "join": f"SELECT x.id, x.v, y.v AS w {_JOIN}",
    "filtered join": f"SELECT x.id, y.id AS other {_NEAR} WHERE x.id = 2 AND y.id = 3",
    "counted join": f"SELECT window.start AS t, count(*) AS n {_JOIN} GROUP BY window(x.ts, '4 seconds')",
}
POLICIES = (
    "random, train=90",
    "random, level=operator, train=90",
    "hnr",
    "random, level=operator",
    "path-capacity",
    "express",
    "fcfs, preempt=class, slice=auto",
)
IMPORTANT = ("filter", "tumbling", "counted join")  # of a class of their own, to which others give way
FUSES = ("class", "all", "off")
FEW = ("filter", "quotient", "having", "failing sum")  # where there is little time; the first two make a group
_ALIVE = "(SELECT * FROM a WHERE v IS NULL OR v <> 0)"
_EVERY = [
    *(Case(name, sql, sql) for name, sql in _QUERIES.items()),
    *(Case(name, sql, sql.replace("FROM a", f"FROM {_ALIVE}")) for name, sql in _FAILING.items()),
]
MEMBERS = "HEADGATE_KILL_MEMBERS"  # how many further queries there are


def _member(number: int) -> Case:
    """One of many: two filters and a window take turns, each with constants of its own."""
    low, other = number % 7 - 2, number // 7 % 5
    sql = (
        f"SELECT id, v, ts FROM a WHERE v >= {low} AND id <> {other}",
        f"SELECT id, {number} AS member FROM a WHERE v BETWEEN {low} AND {low + 1} OR id IS NULL",
        f"SELECT window.start AS t, id, count(*) AS n, sum(v) AS total FROM a WHERE v < {low + 3} {_SLIDING}, id",
    )[number % 3]
    return Case(f"member-{number}", sql, sql)


CASES = [
    *(case for case in _EVERY if case.name in FEW or not os.environ.get("HEADGATE_KILL_FEW")),
    *map(_member, range(int(os.environ.get(MEMBERS, "0")))),
]
READY = "ready"
LONGEST = 4.0  # seconds that a life lasts once it runs
NAMED = 20.0  # seconds that it has to come to a named point
STARTING = 300.0  # seconds that it may take to get there
PER_LIFE = 40  # batches
MOST = 70  # rows of a batch


def batch(index: int) -> list[Row]:
    """The same rows whenever this batch is sent; some are late."""
    chance = random.Random(index)
    back = (0, 0, 0, 1_000_000, 2_500_000, 9_000_000)
    rows = []
    for late in chance.choices(back, k=chance.randint(1, MOST)):
        moment = BASE + index * 2_000_000 + chance.randrange(2_000_000) - late
        rows.append((chance.choice((1, 2, 3, None)), chance.choice((0, 1, 2, 3, None)), "s", moment))
    return rows


def late(batches: int) -> list[Row]:
    """The rows of so many batches that are late."""
    delay = round(STREAMS["a"].watermark * 1_000_000)
    frontier, late = BASE - 10**9, list[Row]()
    for index in range(batches):
        late += [row for row in batch(index) if row[-1] < frontier]
        frontier = max(frontier, *(row[-1] - delay for row in batch(index)))
    return late


def opened(folder: Path, seed: int) -> Session:
    """A session of its own on the directory, with small steps between checkpoints."""
    maintenance.EVERY, file_sinks.FAN = 10, 4
    setattr(ClassGuard, "_gain", lambda guard, best, own, left, spent: 1.0)  # noqa: B010 - cancel whatever may be
    spark = builder("local[2]", "headgate-kill").config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    policy, fuse = POLICIES[seed % len(POLICIES)], FUSES[seed % len(FUSES)]
    if os.environ.get(MEMBERS):  # to cut hundreds of queries takes longer than a life lasts
        policy, fuse = ("hnr", "express", "fcfs, preempt=class, slice=auto")[seed % 3], FUSES[seed % 2]
    os.environ[OFF] = "off" if seed // 7 % 3 == 2 else ""
    panes = seed // 21 % 3 != 2
    session = Session(
        spark=spark, directory=folder / "data", policy=policy, fuse=fuse, workers=2, seed=seed, panes=panes
    )
    if "a" not in session.streams:
        session.add_stream(STREAMS["a"])
    session.create_class("important", priority=60.0)
    known = session.queries  # the directory brings back all but those that an early kill has prevented
    session.add_queries(
        {
            "name": case.name,
            "sql": case.sql,
            "since": "start",
            "query_class": "important" if case.name in IMPORTANT else None,
        }
        for case in CASES
        if case.name not in known
    )
    return session


def feed(session: Session, folder: Path, batches: int) -> None:
    """Send the next batches, and write down which were acknowledged, to be checked after the next kill."""
    log, noted = session.engine.logs["a"], folder / "acknowledged"
    acknowledged = int(noted.read_text() or 0) if noted.exists() else 0
    if acknowledged and f"b{acknowledged - 1}" not in log.batches:
        raise SystemExit(f"batch {acknowledged - 1} was acknowledged and is not there")
    for index in range(max(0, acknowledged - 1), acknowledged + batches):  # the last one again, as a source would
        session.engine.append("a", table("a", batch(index)), f"b{index}")
        fresh = noted.with_suffix(".new")
        fresh.write_text(str(index + 1))
        os.replace(fresh, noted)
        time.sleep(0.03)


def live(folder: Path, seed: int) -> None:
    """A process that works until it is killed."""
    print(READY, flush=True)
    session = opened(folder, seed)
    print(READY, flush=True)
    feed(session, folder, PER_LIFE)
    session.drain()
    time.sleep(2 * NAMED)


def last_life(folder: Path) -> dict[str, object]:
    """Finish everything, and compare."""
    session = opened(folder, 0)
    feed(session, folder, 3)
    session.finish("a")
    session.drain()
    log = session.engine.logs["a"]
    rows = log.read(0, log.end)
    sent = int((folder / "acknowledged").read_text())
    everything = [row for index in range(sent) for row in batch(index)]
    own = rows.drop_columns(["_offset", "_arrival", "_late"])
    wrong = differences("the log", counted(own), counted(table("a", everything)))
    wrong += differences("late", counted(own.filter(rows["_late"])), counted(table("a", late(sent))))
    results = 0
    for case in CASES:
        for name, view in batch_views(session.engine.query(case.name).query.plan, {"a": rows}).items():
            session.spark.createDataFrame(view).createOrReplaceTempView(name)
        wanted = counted(session.spark.sql(case.batch).toArrow())
        wrong += differences(case.name, counted(session[case.name].read()), wanted)
        results += wanted.total()
    letters = session.engine.ingest.letters["a"].letters()
    reported = Counter((letter.query, letter.offset) for letter in letters)
    wrong += differences("dead letters", reported, expected_letters(rows))
    session.close()
    session.spark.stop()
    return {"tuples": rows.num_rows, "results": results, "late": len(late(sent)), "dead": len(letters), "wrong": wrong}


def expected_letters(rows: pa.Table) -> Counter[Row]:
    """One of every late tuple, and one of every tuple that a query fails on: late ones come into no window."""
    expected: Counter[Row] = Counter()
    for offset, v, late in zip(*(rows[name].to_pylist() for name in ("_offset", "v", "_late")), strict=True):
        expected[None, offset] += late
        for case in CASES:
            expected[case.name, offset] += case.name in _FAILING and v == 0 and not (late and "window" in case.sql)
    return +expected


def differences(name: str, actual: Counter[Row], wanted: Counter[Row]) -> list[str]:
    lost, doubled = (wanted - actual).total(), (actual - wanted).total()
    return [f"{name}: {lost} lost, {doubled} doubled or not asked for"] if lost or doubled else []


def child(folder: Path, *arguments: str, kill: str = "", module: str = __spec__.name) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", module, "--folder", str(folder), *arguments]
    environment = {**os.environ, VARIABLE: kill} if kill else dict(os.environ)
    with open(folder / "errors", "w") as errors:
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        )


def life(folder: Path, chance: random.Random, point: str, module: str = __spec__.name) -> str:
    """Run one process until it is killed; returns how it ended."""
    kill = f"{point}:{chance.randint(1, 6 if '.append' in point or 'forward' in point else 2)}" if point else ""
    process = child(folder, "--live", str(chance.getrandbits(30)), kill=kill, module=module)
    early = not point and chance.random() < 0.2  # while it recovers
    try:
        if wait_for_lines(process, 1 if early else 2):
            process.wait(NAMED if point else chance.uniform(0.0, 6.0 if early else LONGEST))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        point = ""
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    code = process.wait()
    assert process.stdout is not None
    process.stdout.close()
    if code != -signal.SIGKILL:
        raise SystemExit(f"a life ended with {code}: {(folder / 'errors').read_text()[-2000:]}")
    return point or ("random, early" if early else "random")


def wait_for_lines(process: subprocess.Popen[str], wanted: int) -> bool:
    """Whether the process got so far before it ended."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        for _ in range(wanted):
            if not waiting.select(STARTING):
                os.killpg(process.pid, signal.SIGKILL)
                raise SystemExit("a life did not start")
            if process.stdout.readline().strip() != READY:
                return False
    return True


def campaign(kills: int, seed: int) -> int:
    chance = random.Random(seed)
    began = time.monotonic()
    deaths: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        points = [chance.choice(POINTS) if number % 2 else "" for number in range(kills)]
        try:
            for number, point in enumerate(points, start=1):
                deaths[life(folder, chance, point)] += 1
                print(f"\r{number} of {kills} kills", end="", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            print(" were enough; now the account", end="", file=sys.stderr)
        print(file=sys.stderr)
        return account(folder, deaths, len(CASES), began)


def account(folder: Path, deaths: Counter[str], queries: int, began: float, module: str = __spec__.name) -> int:
    """Let the last life compare everything, and print what it found; 1 if something is lost or doubled."""
    process = child(folder, "--last", module=module)
    output, _ = process.communicate()
    if process.returncode:
        print((folder / "errors").read_text()[-3000:], file=sys.stderr)
        return 1
    found = json.loads(output.splitlines()[-1])
    named = deaths.total() - deaths["random"] - deaths["random, early"]
    letters = f"{found['late']} late, {found['dead']} dead letters, " if "late" in found else ""
    print(
        f"{deaths.total()} kills, {named} of them at named points; {queries} queries, {found['tuples']} tuples, "
        f"{letters}{found['results']} results, {time.monotonic() - began:.0f} s: "
        f"{'; '.join(found['wrong']) or 'none lost, none doubled'}"
    )
    return 1 if found["wrong"] else 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--members", type=int, default=0, help="further queries, in large groups")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--live", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--last", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    if chosen.live is not None:
        live(chosen.folder, chosen.live)
        return 0
    if chosen.last:
        print(json.dumps(last_life(chosen.folder)), flush=True)
        return 0
    if chosen.members:
        os.environ[MEMBERS] = str(chosen.members)
        CASES.extend(map(_member, range(chosen.members)))
    return campaign(chosen.kills, chosen.seed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
