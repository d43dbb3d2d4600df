"""One case: a seed decides what happens next, again and again, and whatever happens, the promises hold."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from tests.spark.chaos import checks, declared
from tests.spark.chaos.acknowledged import Acknowledged
from tests.spark.chaos.clients import Client, Users
from tests.spark.chaos.declaring import again, declare, declare_again
from tests.spark.chaos.faultydisk import Crash, FaultyDisk
from tests.spark.chaos.ledger import BrokenError, Ledger
from tests.spark.chaos.restored import restore
from tests.spark.chaos.streams import NAMES, Given, StreamModel
from tests.spark.chaos.system import System
from tests.spark.chaos.telling import told

from headgate.model import HeadgateError, Query
from headgate.plan.fusion import Fuse
from headgate.spark.engine.owner import SINK
from headgate.spark.engine.stored_settings import DEFAULT_POLICY
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine import messages as m
from headgate.spark.machine.lifecycle import QueryState
from headgate.spark.machine.tasks import COMMIT, Reply
from headgate.spark.store.frame_file import GROUP

STEPS = 220
BEGIN = 1_000_000.0  # seconds since the epoch
LONG = 5_000  # steps in which everything must come to rest
ENDINGS = ("kill", "cut", "reorder")
GIVEN = ("fcfs", "chain", "hnr", "slope-slack")  # policies that a session on an existing directory may be opened with


@dataclass
class Figures:
    """What has happened."""

    steps: int = 0
    crashes: int = 0
    faults: int = 0
    commands: int = 0
    commits: int = 0

    def add(self, other: Figures) -> None:
        for name in ("steps", "crashes", "faults", "commands", "commits"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class Faults:
    """What goes wrong besides the disk."""

    jobs: int = 0  # so many of the next jobs fail
    spark: bool = False  # Spark is gone from the next job on
    blocked: dict[str, int] = field(default_factory=dict)  # lanes of callbacks, until which step


class World:
    """The disk, the users, the streams, and one engine after another."""

    def __init__(self, seed: int, root: Path, *, verbose: bool = False) -> None:
        self.chance = random.Random(seed)
        self.verbose = verbose
        self.disk = FaultyDisk(root, seed)
        self.path = root / "data"
        self.time = BEGIN
        self.figures, self.faults = Figures(), Faults()
        self.known = {name: StreamModel() for name in NAMES}
        self.users = Users(self.chance, lambda: self.time, self.query)
        self.acknowledged = Acknowledged()
        self.ledger = Ledger(self.users.texts.__getitem__, removed=self.acknowledged.removed)
        self.workers = self.chance.randint(1, 3)
        self.calm = False  # no more faults
        self.closing: m.Close | None = None
        self.system: System
        self.expected: dict[int, Reply | None] = {}  # replies that the start of the engine waits for, by ticket

    def say(self, what: str, *parts: Any) -> None:
        """Tell of a step, if anybody wants to know."""
        if self.verbose:
            print(what, *(told(part) for part in parts))

    def query(self, name: str) -> Query | None:
        """A query as it is now, if there is one."""
        life = self.system.machine.context.lives.get(name)
        return None if life is None else life.query

    # -- the case ----------------------------------------------------------------------------------------------

    def live(self) -> Figures:
        """Play the case."""
        self._guarded(self.open)
        for _ in range(STEPS):
            self._guarded(self.step)
            self.figures.steps += 1
        self.calm = True
        self._guarded(self.settle)
        self.figures.commands = self.users.tickets
        self.figures.commits = self.ledger.commits
        return self.figures

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Crash:
            self.crash()

    def step(self) -> None:
        """Whatever the seed says."""
        system, chance = self.system, self.chance
        ways: list[tuple[float, Callable[[], None]]] = [
            (1.5, self.pass_time),
            (3.0, self.append),
            (0.4, self.trouble),
            (0.12, self.die),
            (0.15, self.rest),
            (0.05, self.close),
        ]
        if system.mailbox:
            ways.append((10.0, self.handle))
        if self.performable():
            ways.append((8.0, self.perform))
        if self.users.idle:
            ways.append((3.0, self.ask))
        chance.choices([way for _, way in ways], [weight for weight, _ in ways])[0]()
        checks.each_step(self)

    # -- what may happen ---------------------------------------------------------------------------------------

    def handle(self) -> None:
        message = self.system.handle()
        self.say("handle", message)
        self._heed()

    def _heed(self) -> None:
        """Replies reach those who asked."""
        replies, self.system.replies = self.system.replies, []
        for note in self.system.notes:
            self.say("      ", note)
        self.system.notes.clear()
        for reply in replies:
            command = self.users.answer(reply)
            self.say("       reply to", command, reply.error or "done")
            if reply.ticket in self.expected:
                self.expected[reply.ticket] = reply
            if command is not None:
                self._acknowledge(command, reply)
            if isinstance(command, m.DeclareStream) and command.stream.name not in self.system.ingest.streams:
                self.users.host.script.appendleft(declare(command.stream))
            if self.closing is not None and reply.ticket == self.closing.ticket:
                self.closed()
                return

    def _acknowledge(self, command: m.Command, reply: Reply) -> None:
        """Somebody has been told what became of a command; a commit that failed may count after the next start."""
        refused, unsure = reply.error is not None, False
        if refused:
            unsure = self.system.commits._file._failed or self._has_begun_partly(command)
        elif isinstance(command, m.Resume):  # one that cannot go on yet is resumed once it can
            life = self.system.machine.context.lives.get(command.name)
            unsure = life is None or life.state is not QueryState.RUNNING
        self.acknowledged.answered(command.ticket, refused=refused, unsure=unsure)

    def _has_begun_partly(self, command: m.Command) -> bool:
        """Whether queries of a command run although others could not begin: those that are cut have commits each."""
        if not isinstance(command, m.AddQueries):
            return False
        lives = self.system.machine.context.lives.values()
        return any(life.added_by is each for life in lives for each in command.queries)

    def tell(self, command: m.Command) -> None:
        """Give the engine a command that is part of its start."""
        self.expected[command.ticket] = None
        self.say("restore", command)
        self.system.tell(command)

    def reply_to(self, ticket: int) -> Reply:
        """Let things happen until a command of the start has its reply."""
        for _ in range(LONG):
            if (reply := self.expected[ticket]) is not None:
                return reply
            ways = [self.handle] * bool(self.system.mailbox) + [self.perform] * bool(self.performable())
            if not ways:
                break
            self.chance.choice(ways)()
            checks.each_step(self)
        raise BrokenError(f"nobody answers command {ticket} of the start")

    def performable(self) -> list[tuple[str, int]]:
        """Tasks that may end next; some callbacks take long."""
        blocked = self.faults.blocked
        return [(lane, many) for lane, many in self.system.ready() if blocked.get(lane, 0) <= self.figures.steps]

    def perform(self) -> None:
        lane, many = self.chance.choice(self.performable())
        if lane.startswith(SINK) and not self.calm and self.chance.random() < 0.2:
            self.faults.blocked[lane] = self.figures.steps + self.chance.randint(10, 120)
            self.say("takes long:", lane)
            return
        group = self.chance.randint(1, GROUP)
        place = self.chance.randrange(many)
        self.say("perform", lane, self.system.lanes[lane][place])
        self.system.perform(lane, place, group if lane == COMMIT else 1)

    def ask(self) -> None:
        client = self.chance.choice(self.users.idle)
        if client.script:
            make = client.script.popleft()
        elif len(self.system.ingest.streams) < len(NAMES):
            return
        else:
            make = self.users.any_command()
        self.give_command(client, make)

    def give_command(self, client: Client, make: Callable[[int], m.Command]) -> m.Command:
        command = self.users.ask(client, make)
        self.say("ask", command)
        self.acknowledged.asked(command)
        self.system.tell(command)
        return command

    def append(self) -> None:
        """Some rows for a stream, or its end."""
        name = self.chance.choice(list(self.system.ingest.logs) or [""])
        if not name or self.system.machine.lag_limits.lagging_query(name) is not None:
            return
        rows = () if self.chance.random() < 0.01 else tuple(self._row() for _ in range(self.chance.randint(1, 5)))
        self.give(name, Given(rows, self.time))

    def give(self, name: str, given: Given) -> None:
        known, log = self.known[name], self.system.ingest.logs[name]
        expected, before = known.kept(given), log.end
        known.unsure.append(given)
        self.say("append", name, before, given.rows or "its end")

        def grown(stream: str, first: int, last: int) -> None:
            self.system.tell(m.Appended(stream, last, self.system.ingest.chunks(stream, first, last)))

        try:
            with self.system.ingest.changing(name, grown):
                if given.rows:
                    self.system.ingest.append(name, given.table)
                else:
                    self.system.ingest.finish(name)
        except (HeadgateError, OSError) as error:
            self.say("       refused:", error)
            if log.end != before:
                raise BrokenError(f"a refused append to '{name}' is there") from error
            return
        if log.end - before != len(expected):
            raise BrokenError(f"stream '{name}' took {log.end - before} of {len(expected)} tuples")
        known.add(given)

    def _row(self) -> tuple[int, int, int | None]:
        chance = self.chance
        time: int | None = round((self.time + chance.uniform(-4.0, 1.0)) * 1e6)
        if chance.random() < 0.03:
            time = chance.choice((None, round((self.time + 7200.0) * 1e6)))
        return chance.randrange(3), chance.randrange(6), time

    def pass_time(self) -> None:
        due, chance = self.system.machine.due, self.chance
        self.time += chance.expovariate(1.0)
        if due < self.time + 100.0 and chance.random() < 0.5:
            self.time = max(self.time, due)
        self.system.tell(m.TimePassed())

    def trouble(self) -> None:
        """Something fails from now on, or a few operations later."""
        chance, self.figures.faults = self.chance, self.figures.faults + 1
        kind = chance.choice(("disk", "disk", "disk", "full", "callback", "jobs", "spark"))
        self.say("trouble:", kind)
        match kind:
            case "disk":
                self.disk.fail_next("any", chance.choice((errno.EIO, errno.ENOSPC)), after=chance.randrange(12))
            case "full":
                self.disk.full = not self.disk.full
            case "callback":
                for receiver in self.users.receivers.values():
                    receiver.raises = chance.randrange(3)
            case "jobs":
                self.faults.jobs = chance.randint(1, 3)
            case "spark":
                self.system.spark_is_gone = True
                if chance.random() < 0.3:
                    self.system.tell(m.SparkDied("it was killed"))

    def job(self) -> None:
        """A job begins: it may fail."""
        if self.system.spark_is_gone:
            raise SparkGoneError("Spark's process is gone")
        if self.faults.jobs:
            self.faults.jobs -= 1
            raise RuntimeError("a job failed")

    def die(self) -> None:
        """The process ends, now or at one of the next operations of the disk."""
        if self.chance.random() < 0.3:
            raise Crash
        self.disk.crash_at = self.disk.number + self.chance.randint(1, 80)
        self.say("the process will die soon")

    def rest(self) -> None:
        """Let everything come to rest but callbacks that take long; then nobody may be left waiting."""
        self.say("rest")
        self._run_down()
        checks.at_rest(self)
        if self.closing is None and self.users.host.waits_for is None and self.chance.random() < 0.3:
            declared.declared_again(self)

    def ask_at_rest(self, make: Callable[[int], m.Command]) -> Reply:
        """The reply to a command of the host, when nothing else is under way."""
        command = self.give_command(self.users.host, make)
        self.expected[command.ticket] = None
        self._run_down()
        reply = self.expected[command.ticket]
        if reply is None:
            raise BrokenError(f"nobody answers {command}")
        return reply

    def _run_down(self) -> None:
        for _ in range(LONG):
            if self.system.mailbox:
                self.handle()
            elif ready := self.performable():
                lane, _ = ready[0]
                self.say("perform", lane, self.system.lanes[lane][0])
                self.system.perform(lane, 0, GROUP if lane == COMMIT else 1)
            else:
                return
        raise BrokenError(f"after {LONG} steps there is still something to do")

    # -- an engine begins and ends -----------------------------------------------------------------------------

    def open(self) -> None:
        """Begin another life of the engine: what commits have comes back by itself."""
        for _ in range(20):
            try:
                self._start()
                break
            except (HeadgateError, OSError) as error:
                self.say("cannot open:", error)
                self._let_go()
                self.disk.full = False
        else:
            raise BrokenError("the directory cannot be opened any more")
        declared.after_restart(self)
        declare_again(self)
        self._run_down_opening()

    def _start(self) -> None:
        self.users.forget()
        self.faults, self.expected = Faults(), {}
        self.system = System(
            self.path, self.ledger, lambda: self.time, self.job, workers=self.workers, **self._given_settings()
        )
        self.acknowledged.check(self.ledger)
        self.acknowledged.restarted(self.ledger)
        restore(self)

    def _given_settings(self) -> dict[str, Any]:
        """What a session is opened with: the directory remembers the rest."""
        given: dict[str, Any] = {}
        if not self.ledger.catalog:
            given = {"policy": DEFAULT_POLICY, "fuse": self.chance.choice(list(Fuse)), "seed": 1}
        elif not self.calm and self.chance.random() < 0.1:
            given = {"policy": self.chance.choice(GIVEN)}
        self.acknowledged.given(given)
        return given

    def _let_go(self) -> None:
        system = getattr(self, "system", None)
        if system is not None:
            with suppress(Crash):
                system.let_go()

    def _run_down_opening(self) -> None:
        """The first thing that users do is to declare streams that are missing: what they hold can be compared then."""
        for _ in range(200):
            if len(self.system.ingest.streams) == len(NAMES):
                break
            client = self.users.host
            if client.waits_for is None and client.script:
                self.give_command(client, client.script.popleft())
            self.disk.full = False
            self._run_down()
        else:
            raise BrokenError("the streams cannot be declared any more")
        checks.after_start(self)

    def crash(self) -> None:
        """The process is gone; what comes back is what the disk has."""
        for _ in range(10):
            ending = self.chance.choice(ENDINGS)
            self.figures.crashes += 1
            self.say("CRASH:", ending)
            self._let_go()
            if ending == "kill":
                self.disk.kill()
            else:
                self.disk.crash(self.chance, reorder=ending == "reorder")
            self.closing = None
            if not self.calm and self.chance.random() < 0.2:
                self.disk.crash_at = self.disk.number + self.chance.randint(1, 60)
            try:
                self.open()
            except Crash:
                continue
            return
        raise BrokenError("it crashes again and again")

    def close(self) -> None:
        if self.closing is None:
            run_patience = self.chance.choice((inf, inf, 1.0, 0.0))
            self.closing = m.Close(self.users.ticket(), 3.0, run_patience)
            self.say("close")
            self.system.tell(self.closing)

    def closed(self) -> None:
        """The engine has said that it is closed: threads end after what they have been given."""
        self.closing = None
        for lane in list(self.system.lanes):
            while self.system.lanes.get(lane) and not lane.startswith(SINK):
                self.system.perform(lane)
        self.system.let_go()
        self.say("closed")
        self.open()

    # -- the end -----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """No more faults: all that was suspended goes on, all that waits is run, and everything is counted."""
        self.disk.full, self.disk.crash_at = False, None
        self.disk.clear_faults()
        self.faults, self.system.spark_is_gone = Faults(), False
        for receiver in self.users.receivers.values():
            receiver.raises = 0
        self._finish_closing()
        if self._must_restart():
            self.closing = m.Close(self.users.ticket(), 3.0)
            self.system.tell(self.closing)
            self._finish_closing()
        self._until_still()
        self.users.host.script.append(lambda ticket: m.SetPolicy(ticket, "fcfs"))
        self._until_still()
        for name, life in self.system.machine.context.lives.items():
            if life.state is QueryState.INCOMPLETE:
                self.users.host.script.append(again(self, name))
        self._until_still()
        for _ in range(3):
            for name in list(self.system.machine.context.lives):
                self.users.host.script.append(partial(m.Resume, name=name))
            self._until_still()
        checks.at_rest(self)
        checks.drained(self)

    def _finish_closing(self) -> None:
        while self.closing is not None:
            self._pump()

    def _pump(self) -> None:
        """Let everything come to rest, callbacks too; time passes if that is what all wait for."""
        self._run_down()
        due = self.system.machine.due
        if due < float("inf"):
            self.time = max(self.time, due)
            self.system.tell(m.TimePassed())
        elif self.closing is not None:
            raise BrokenError("closing never ends")

    def _until_still(self) -> None:
        """Scripts are worked off, timers have rung."""
        for _ in range(500):
            for client in self.users.everyone:
                if client.waits_for is None and client.script:
                    self.give_command(client, client.script.popleft())
            still = not self.system.mailbox and not self.performable() and self.system.machine.due == float("inf")
            if still and not any(client.script for client in self.users.everyone):
                return
            self._pump()
        waiting = [client.waits_for for client in self.users.everyone if client.waits_for is not None]
        raise BrokenError(f"it does not come to rest: {waiting}")

    def _must_restart(self) -> bool:
        """A file that could be neither written nor repaired asks for a restart; others happen to be restarted."""
        logs = [log._tail for log in (*self.system.ingest.logs.values(), *self.system.fragment_logs.open.values())]
        return self.chance.random() < 0.3 or any(file._failed for file in [self.system.commits._file, *logs])
