"""Plays a case on the engine through its public interface, and compares."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from tests.spark.compile.logs import counted
from tests.spark.fuzz import letters
from tests.spark.fuzz.case import Case, QueryDef, Step
from tests.spark.fuzz.data import to_arrow
from tests.spark.fuzz.lives import Collected, Failure, Nobody, Over, first_life
from tests.spark.fuzz.model import Model
from tests.spark.fuzz.oracle import ROOMS, Oracle, Rows
from tests.spark.fuzz.small import made_small
from tests.spark.fuzz.sql import engine_sql, windowed

import headgate
from headgate.model import HeadgateError
from headgate.spark.compile import repeated_jobs

PATIENCE = 60.0  # seconds until a call counts as hanging
QOS = ((0.0, 1.0), (1.0, 0.0))


@dataclass
class Player:
    """One case on one directory."""

    spark: SparkSession
    case: Case
    directory: Path
    alter: Callable[[Rows], Rows] = lambda rows: rows  # tests put faults here
    watch: Callable[[str], None] = lambda at: None  # hears of every call before it is made
    failures: list[Failure] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = Model(self.case)
        self.handles: dict[str, Any] = {}
        self.collected: dict[str, Collected] = {}
        self.kept: dict[str, Rows] = {}  # of queries that were stopped
        self.session: Any = None
        self.elsewhere, self._at = False, ""
        self.settings: tuple[str, str, int] = (self.case.policy, self.case.fuse, self.case.workers)

    def play(self) -> list[Failure]:
        """Everything, to the end; stops at the first call that fails, and at the first query that does not go on."""
        with made_small(self.case.small):
            try:
                for step in self._begin():
                    self.step(step)
                self._end()
                self._check()
                self._reopen()
            except Over:
                pass
            except HeadgateError as error:
                self._fail("refused", self._at, str(error))
            except Exception as error:
                self._fail("error", self._at, f"{type(error).__name__}: {error}")
            finally:
                with contextlib.suppress(Exception):
                    self.session.close()
        return self.failures

    def live(self) -> list[Failure]:
        """All up to the kill, which is left to the caller."""
        with made_small(self.case.small):
            self._open()
            self._start_first()
            for step in self.case.steps:
                self.step(step)
                if step[0] == "kill":
                    break
        return self.failures

    def _begin(self) -> list[Step]:
        """Open, in a case with a kill after a first life in another process; the steps that are left."""
        steps = self.case.steps
        at = next((number for number, step in enumerate(steps) if step[0] == "kill"), None)
        if at is None:
            self._open()
            self._start_first()
            return steps
        self.failures += first_life(self.case, self.directory)
        self.session, self.elsewhere = Nobody(), True
        self._start_first()
        for step in steps[:at]:
            self.step(step)
        self.elsewhere = False
        self.model.restarted()
        self._come_back()
        return steps[at + 1 :]

    def step(self, step: Step) -> None:
        """One step; those that make no sense now are left out, as in cases that were made smaller."""
        kind, *arguments = step
        self._call(" ".join(map(str, step[:2])))
        if kind in ("start", "pause", "resume", "replace", "move", "stop"):
            known = self.model.queries.get(arguments[0])
            if known is None or not (known.alive or kind == "start"):
                return
        getattr(self, f"_{kind}")(*arguments)

    # -- opening -----------------------------------------------------------------------------------------------

    def _open(self, *, again: bool = False) -> None:
        self._call("open")
        if self.elsewhere:
            return
        policy, fuse, workers = self.settings
        os.environ[repeated_jobs.OFF] = "off" if self.case.number % 7 == 3 else ""
        self.session = headgate.Session(
            spark=self.spark,
            directory=self.directory,
            policy=policy,
            fuse=fuse,
            workers=workers,
            seed=self.case.seed,
            held=again,  # followers of results come before the first run
            panes=self.case.number % 5 != 4,
        )
        for stream in self.case.streams:
            self.session.stream(stream.name, stream.ddl, event_time="ts", watermark=stream.watermark)
        self.session.table("rooms", self.spark.createDataFrame(ROOMS))
        classes = self.session.engine.overview().classes
        for name, priority in (("high", 10.0), ("low", 1.0)):
            if name not in classes:  # otherwise it has the priority that it was given last
                self.session.create_class(name, priority)

    def _start_first(self) -> None:
        later = {step[1] for step in self.case.steps if step[0] == "start"}
        for query in self.case.queries:
            if query.name not in later:
                self._start(query.name, "now")

    def _start(self, name: str, since: str) -> None:
        known = self.model.queries[name]
        if known.state != "waiting":
            return
        since = "now" if windowed(known.query.tree) or known.query.sink == "memory" else since
        self._call(f"start {name} {since}")
        self.model.start(name, since)
        self._submit(known.query, since)
        if since == "once":
            self._drain()
            known.state = "stopped"
            self._keep(name)

    def _submit(self, query: QueryDef, since: str = "now") -> None:
        known, sink = self.model.queries[query.name], query.sink
        settings: dict[str, Any] = {"once": True} if since == "once" else {"since": since}
        if sink in ("callback", "failing"):
            settings["callback"] = self.collected.setdefault(query.name, Collected(sink == "failing"))
        else:
            settings["sink"] = sink
        handle = self.session.query(
            query.name,
            engine_sql(known.tree),
            query_class=known.query_class,
            qos=QOS if self.case.qos else None,
            **settings,
        )
        self.handles[query.name] = handle
        if sink == "memory":
            self._follow(query.name, handle)

    def _follow(self, name: str, handle: Any) -> None:
        seen = self.collected.setdefault(name, Collected())
        batches = handle.results()

        def take() -> None:
            for batch in batches:
                seen(pa.Table.from_batches([batch]))

        threading.Thread(target=take, daemon=True).start()

    # -- steps -------------------------------------------------------------------------------------------------

    def _append(self, name: str, rows: list[Any], form: str = "table") -> None:
        known = self.model.streams[name]
        table = to_arrow(known.stream, rows)
        wanted = known.append(rows)
        self.model.arrived()
        taken = self.session.append(name, table.to_pylist(maps_as_pydicts="strict") if form == "dicts" else table)
        if taken != wanted and not self.elsewhere:
            self._fail("append", name, f"{taken} rows were taken, not {wanted}")

    def _drain(self) -> None:
        if not self.session.drain(PATIENCE):
            told = {line.name: line.waiting for line in self.session.status().queries}
            self._fail("stuck", self._at, f"not drained after {PATIENCE:g} s, waiting: {told}")
            raise Over
        self._recover()
        self.model.drained()

    def _recover(self) -> None:
        """Queries whose sink failed go on; no other may be suspended."""
        for _ in range(50):
            stopped = [line for line in self.session.status().queries if line.state == "suspended"]
            for line in stopped:
                if self.model.queries[line.name].query.sink != "failing":
                    self._fail("suspended", line.name, line.error)
                    raise Over
                self.handles[line.name].resume()
            if not stopped:
                return
            self.session.drain(PATIENCE)

    def _status(self) -> None:
        told = self.session.status()
        names = {line.name for line in told.queries}
        wanted = {name for name, known in self.model.queries.items() if known.alive}
        if not wanted <= names:
            self._fail("status", "status", f"lacks {sorted(wanted - names)}")

    def _sleep(self, milliseconds: int) -> None:
        time.sleep(milliseconds / 1000)

    def _pause(self, name: str) -> None:
        if self.model.queries[name].state == "running":
            self.handles[name].pause()
            self.model.queries[name].state = "paused"

    def _resume(self, name: str) -> None:
        known = self.model.queries[name]
        if known.state == "paused":
            self.handles[name].resume()
            known.state = "running"
            known.settled = known.settled if known.settled == self.model.ends else None

    def _replace(self, name: str) -> None:
        """Where it stands must be certain: it has read everything, or was paused then."""
        if self.model.queries[name].settled is None and self.model.queries[name].state == "running":
            self._drain()
        if self.model.queries[name].settled is not None:
            self.handles[name].replace(engine_sql(self.model.replace(name)))

    def _move(self, name: str, query_class: str) -> None:
        self.handles[name].move(query_class)
        self.model.queries[name].query_class = query_class

    def _stop(self, name: str) -> None:
        self.handles[name].stop()
        self.model.stop(name)
        self._keep(name)

    def _keep(self, name: str) -> None:
        """What a query that ends has given; nobody knows if that was in another process."""
        if self.elsewhere:
            self.model.queries[name].spans.clear()
            self.kept[name] = Rows()
        else:
            self.kept[name] = self._found(name)

    def _policy(self, policy: str, fuse: str | None) -> None:
        self.session.set_policy(policy, fuse)
        self.settings = (policy, fuse or self.settings[1], self.settings[2])

    def _priority(self, query_class: str, priority: float) -> None:
        self.session.set_priority(query_class, priority)

    def _finish(self, name: str) -> None:
        self.model.streams[name].finish()
        self.model.arrived()
        self.session.finish(name)

    def _restart(self, policy: str, fuse: str, workers: int) -> None:
        self.session.close()
        self.model.restarted()
        self.settings = (policy, fuse, workers)
        self._come_back()

    def _come_back(self) -> None:
        """Open the directory, which brings all queries back; callbacks and followers are given again."""
        self._open(again=True)
        for known in self.model.queries.values():
            if known.alive:
                self._attach(known.query)
        self.session.begin()

    def _attach(self, query: QueryDef) -> None:
        handle = self.handles[query.name] = self.session[query.name]
        if query.sink in ("callback", "failing"):
            function = self.collected.setdefault(query.name, Collected(query.sink == "failing"))
            self.session.add_query(self.session.engine.query(query.name).query, callback=function)
        elif query.sink == "memory":
            self._follow(query.name, handle)

    def _kill(self, milliseconds: int) -> None:
        """Work goes on for a while; whoever plays this life kills it then."""
        time.sleep(milliseconds / 1000)

    # -- the end -----------------------------------------------------------------------------------------------

    def _end(self) -> None:
        self._call("end")
        for name, known in self.model.queries.items():
            if known.state == "waiting":
                self._start(name, "now")
            self._resume(name)
        for name in self.model.streams:
            self._finish(name)
        self._drain()

    def _check(self) -> None:
        self._call("check")
        self.oracle = oracle = Oracle(self.spark, self.case, self.model)
        for name, known in self.model.queries.items():
            self._call(f"check {name}")
            found = self.kept[name] if name in self.kept else self._found(name)
            difference = oracle.wanted(known).difference(self.alter(found))
            if difference:
                self._fail("results", name, difference)
            self.kept[name] = found

    def _reopen(self) -> None:
        """Results lie in the directory, and nothing is done twice."""
        self.session.close()
        self._call("letters")
        for where, text in letters.wrong(letters.read(self.directory), self.model, self.oracle):
            self._fail("letters", where, text)
        self._come_back()
        self._call("reopen")
        self._drain()
        for name, known in self.model.queries.items():
            if known.alive and known.query.sink in ("parquet", "jsonl") and self._found(name) != self.kept[name]:
                self._fail("reopen", name, f"{self._found(name).total()} results, before {self.kept[name].total()}")

    def _found(self, name: str) -> Rows:
        if name in self.collected:
            return (
                self._followed(name) if self.model.queries[name].query.sink == "memory" else self.collected[name].rows()
            )
        return counted(self.handles[name].read())

    def _followed(self, name: str) -> Rows:
        """Followers are handed results by another thread: wait until no more come."""
        before, now = None, self.collected[name].rows()
        while before != now:
            time.sleep(0.05)
            before, now = now, self.collected[name].rows()
        return now

    def _call(self, at: str) -> None:
        self._at = at
        self.watch(at)

    def _fail(self, kind: str, where: str, text: str) -> None:
        self.failures.append(Failure(kind, where, " ".join(text.split())[:600]))
