"""What users declare after a start of the engine: what is missing, and again what is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tests.spark.chaos.clients import CLASSES
from tests.spark.chaos.ledger import BrokenError
from tests.spark.chaos.queries import plan_of
from tests.spark.chaos.streams import NAMES, stream

from headgate.model import QueryClass, Stream
from headgate.spark.engine.catalog_entries import stored_class, stream_entry
from headgate.spark.machine import messages as m
from headgate.spark.machine.definitions import CLASSES as CLASS_ENTRIES
from headgate.spark.machine.definitions import STREAMS, declared_query
from headgate.spark.machine.lifecycle import QueryState

if TYPE_CHECKING:
    from tests.spark.chaos.world import World


def declare_again(world: World) -> None:
    """Users declare what is not there yet, and some of what is; callbacks are given again, at once or later."""
    chance, catalog, script = world.chance, world.ledger.catalog, world.users.host.script
    for made in CLASSES:
        known = catalog.get(CLASS_ENTRIES, {}).get(made.name)
        if known is None:
            script.append(partial(m.DeclareClass, query_class=made))
        elif chance.random() < 0.3:
            same_or_not = chance.choice((made, stored_class(made.name, known), QueryClass(made.name, 7.0)))
            script.append(partial(m.DeclareClass, query_class=same_or_not))
    for name in NAMES:
        if name not in catalog.get(STREAMS, {}) or chance.random() < 0.3:
            script.append(declare(stream(name)))
        elif chance.random() < 0.2:
            script.append(declare(replace(stream(name), watermark=9.0)))
    for name, life in world.system.machine.context.lives.items():
        there = world.ledger.living(name) is not None  # its end may just have come
        if there and chance.random() < (0.6 if life.state is QueryState.INCOMPLETE else 0.2):
            script.append(again(world, name))


def again(world: World, name: str) -> Callable[[int], m.Command]:
    """The query that the directory knows under a name, as its user gives it again; sometimes another one."""
    generation = world.ledger.living(name)
    if generation is None:
        raise BrokenError(f"'{name}' is in the directory, but it was stopped or never added")
    sql = str(generation.said["sql"])
    query = declared_query(name, generation.said, plan_of(sql))
    if not world.calm and world.chance.random() < 0.1:
        text = world.users.text(name)
        query = replace(query, plan=text.plan, sql=text.sql)
    return world.users.add(query)


def declare(made: Stream) -> Callable[[int], m.Command]:
    """A stream, as the session declares it."""
    return lambda ticket: m.DeclareStream(ticket, made, stream_entry(made, None))
