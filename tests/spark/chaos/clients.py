"""Those who use the engine: they add queries, steer them and stop them, each waiting for its answer."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, cast

from tests.spark.chaos.ledger import rows_of
from tests.spark.chaos.queries import FAMILIES, Rows, Text, any_text
from tests.spark.chaos.standins import RAISES

from headgate.model import Query, QueryClass
from headgate.plan.fusion import Fuse
from headgate.spark.engine.owner import SINK
from headgate.spark.machine import messages as m
from headgate.spark.machine.tasks import FILES, Reply
from headgate.spark.sinks.registry import behind_of

CLASSES = (QueryClass("high", 5.0), QueryClass("low", 1.0))
QUERIES = 6  # names: each is of one family and has one kind of sink
POLICIES = (
    "mbd, inversion=dsp",
    "fcfs",
    "hnr",
    "lottery",
    "rr",
    "chain",
    "hnr, level=operator",
    "fifo",
    "segment",
    "path-capacity",
    "slope-slack",
    "express",
    "rr, preempt=class, keep=1",
    "random, preempt=class, slice=auto",
    "fifo, preempt=class",
    "no such policy",
    RAISES,
)
PATIENT = (m.Drain, m.WaitForRoom)  # commands that are answered when something has come true
SINKS = (("parquet", "jsonl"), ("parquet, behind=0", "jsonl, behind=0"), ("callback",), ("memory, rows=5",))


class RefusedError(Exception):
    """What a callback says that does not take its rows."""


@dataclass
class Receiver:
    """What a callback is: it keeps what it is given, or raises."""

    rows: Rows = field(default_factory=Counter)
    raises: int = 0  # so many times

    def __call__(self, table: Any) -> None:
        if self.raises:
            self.raises -= 1
            raise RefusedError("not today")
        self.rows.update(rows_of(table))


@dataclass
class Client:
    """Gives a command and waits for the answer before the next; a script is worked off first."""

    script: deque[Callable[[int], m.Command]] = field(default_factory=deque)
    waits_for: m.Command | None = None


@dataclass
class Users:
    """All clients, and what they know."""

    chance: random.Random
    now: Callable[[], float]
    query: Callable[[str], Query | None]  # as it is now
    clients: list[Client] = field(default_factory=lambda: [Client() for _ in range(3)])
    host: Client = field(default_factory=Client)  # whose script declares streams and gives the engine its queries again
    texts: dict[str, Text] = field(default_factory=dict)  # by SQL
    receivers: dict[str, Receiver] = field(default_factory=dict)  # by query
    tickets: int = 0
    asked: Counter[str] = field(default_factory=Counter)  # commands
    refused: int = 0
    lanes: int = 0
    replayed: Counter[str] = field(default_factory=Counter)

    @property
    def everyone(self) -> list[Client]:
        return [self.host, *self.clients]

    @property
    def idle(self) -> list[Client]:
        """Those who may ask for something; the host does only what is in its script."""
        free = [client for client in self.everyone if client.waits_for is None]
        return [client for client in free if client is not self.host or client.script]

    def family(self, name: str) -> str:
        return FAMILIES[int(name[1:]) % len(FAMILIES)]

    def sink(self, name: str) -> str:
        """One of the sinks of a name: results of one kind go to files, others to a callback or nowhere."""
        number = int(name[1:])
        return self.chance.choice(SINKS[(number // len(FAMILIES) + number) % len(SINKS)])

    def text(self, name: str) -> Text:
        made = any_text(self.chance, self.family(name))
        self.texts[made.sql] = made
        return made

    def ticket(self) -> int:
        self.tickets += 1
        return self.tickets

    # -- commands ----------------------------------------------------------------------------------------------

    def add(self, query: Query) -> Callable[[int], m.Command]:
        """A query, as the session gives it to the engine: its start and end are seconds from now."""
        sink, lane, call = str(query.sink), FILES, None
        if sink == "callback":
            self.lanes += 1
            lane, call = f"{SINK}{query.name}-{self.lanes}", self.receivers.setdefault(query.name, Receiver())

        def made(ticket: int) -> m.Command:
            start = self.now() + query.start if query.start > 0 else None
            end = self.now() + query.end if query.end < inf else None
            return m.AddQuery(ticket, query, start, end, lane, behind_of(sink), call)

        return made

    def any_add(self) -> Callable[[int], m.Command]:
        """Some query, or one that is there: as it was when the user looked, or almost."""
        name, chance = self._name(), self.chance
        text, known = self.text(name), self.query(name)
        if known is not None and chance.random() < 0.3:
            return self.add(known if chance.random() < 0.8 else replace(known, plan=text.plan, sql=text.sql))
        once = chance.random() < 0.2
        made = Query(
            name=name,
            query_class=chance.choice(CLASSES).name,
            plan=text.plan,
            sql=text.sql,
            sink=self.sink(name),
            since="start" if once or chance.random() < 0.5 else "now",
            once=once,
            lag=chance.choice(("skip, tuples=6", "wait, tuples=8")) if chance.random() < 0.3 else None,
            start=chance.uniform(0.0, 20.0) if chance.random() < 0.15 else 0.0,
            end=chance.uniform(25.0, 60.0) if chance.random() < 0.1 else inf,
        )
        return self.add(made)

    def any_command(self) -> Callable[[int], m.Command]:
        """Something that somebody wants."""
        chance, name = self.chance, self._name()
        kind = chance.choices(
            (
                *("add", "pause", "resume", "replace", "stop", "move", "policy", "priority", "drain", "survey"),
                *("room", "class", "add together"),
            ),
            (8, 2, 4, 2, 1, 1, 1.5, 1, 1, 1, 1, 0.5, 2),
        )[0]
        match kind:
            case "add":
                return self.any_add()
            case "add together":
                several = [self.any_add() for _ in range(chance.randint(1, 4))]
                return lambda ticket: m.AddQueries(ticket, tuple(cast(m.AddQuery, make(0)) for make in several))
            case "pause":
                return lambda ticket: m.Pause(ticket, name)
            case "resume":
                return lambda ticket: m.Resume(ticket, name)
            case "replace":
                text = self.text(name)
                made = Query(name=name, query_class="low", plan=text.plan, sql=text.sql)
                if (known := self.query(name)) is not None:  # as it was when the user looked
                    made = replace(known, plan=text.plan, sql=text.sql)
                return lambda ticket: m.Replace(ticket, made)
            case "stop":
                return lambda ticket: m.Stop(ticket, name)
            case "move":
                group = chance.choice(("high", "low", "middle"))
                return lambda ticket: m.Move(ticket, name, group)
            case "policy":
                policy = chance.choice(POLICIES)
                fuse = chance.choice((None, None, *Fuse))
                return lambda ticket: m.SetPolicy(ticket, policy, None if fuse is None else fuse.value)
            case "priority":
                priority = chance.uniform(0.5, 9.0)
                return lambda ticket: m.ChangeClass(ticket, "low", {"priority": priority})
            case "class":
                made_class = QueryClass(chance.choice(("high", "low", "middle")), chance.choice((1.0, 5.0)))
                return lambda ticket: m.DeclareClass(ticket, made_class)
            case "drain":
                return m.Drain
            case "survey":
                return chance.choice((m.DescribeAll, m.IsDrained, lambda ticket: m.Describe(ticket, name)))
        stream = chance.choice("abcd")
        return lambda ticket: m.WaitForRoom(ticket, stream)

    def _name(self) -> str:
        return f"q{self.chance.randrange(QUERIES)}"

    # -- asking ------------------------------------------------------------------------------------------------

    def ask(self, client: Client, make: Callable[[int], m.Command]) -> m.Command:
        """One command, from one client."""
        client.waits_for = command = make(self.ticket())
        self.asked[type(command).__name__] += 1
        return command

    def answer(self, reply: Reply) -> m.Command | None:
        """The command that a reply is for, if somebody waits for it."""
        self.refused += reply.error is not None
        for client in self.everyone:
            if client.waits_for is not None and client.waits_for.ticket == reply.ticket:
                command, client.waits_for = client.waits_for, None
                return command
        return None

    def forget(self) -> None:
        """The engine is gone: nobody will be answered."""
        for client in self.everyone:
            client.waits_for = None
            client.script.clear()

    @property
    def unanswered(self) -> list[m.Command]:
        """What must be answered though callbacks take their time."""
        asked = (client.waits_for for client in self.everyone)
        return [command for command in asked if command is not None and not isinstance(command, PATIENT)]
