"""The promises about what was declared: it is as commits have it, comes back after a start, and stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tests.spark.chaos.ledger import BrokenError, Generation

from headgate.model import QueryClass
from headgate.spark.engine.catalog_entries import stored_class, stored_stream
from headgate.spark.machine import messages as m
from headgate.spark.machine.definitions import CLASSES, SETTINGS, STREAMS, definition
from headgate.spark.machine.lifecycle import Life, QueryState

if TYPE_CHECKING:
    from tests.spark.chaos.world import World


def as_committed(world: World) -> None:
    """What the engine works with is what commits have."""
    machine, ledger = world.system.machine, world.ledger
    scheduler = machine.scheduling.scheduler
    classes = {name: entry["priority"] for name, entry in ledger.catalog.get(CLASSES, {}).items()}
    _same("classes", {name: each.priority for name, each in scheduler.network.classes.items()}, classes)
    settings = ledger.catalog[SETTINGS]
    _same("fuse", scheduler.fuse.value, settings["fuse"])
    if not machine.policy_changes.failed:
        _same("policy", machine.policy_changes._policy, settings["policy"])
    living = {name: known for name in ledger.queries if (known := ledger.living(name)) is not None}
    _same("queries", sorted(machine.context.lives), sorted(living))
    for name, generation in living.items():
        _described(machine.context.lives[name], generation)


def _described(life: Life, generation: Generation) -> None:
    """A query at rest is as commits describe it."""
    said, state = generation.said, life.state
    declared = definition(life.query)
    _same(f"'{life.name}'", declared, {key: said[key] for key in declared})
    _same(f"end of '{life.name}'", life.ends, said.get("ends"))
    if state is QueryState.INCOMPLETE:
        return
    _same(f"begin of '{life.name}'", life.begins, said.get("begins"))
    _same(f"'{life.name}' is scheduled", state is QueryState.SCHEDULED, not generation.begun)
    if said.get("paused") and state not in (QueryState.PAUSED, QueryState.SUSPENDED, QueryState.WAITING):
        raise BrokenError(f"'{life.name}' is {state}, but commits say that it is paused")
    if state is QueryState.PAUSED and not said.get("paused"):
        raise BrokenError(f"'{life.name}' is paused, but commits do not say so")


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise BrokenError(f"{what}: {found}, commits have {expected}")


def after_restart(world: World) -> None:
    """All that commits have is back, in the state that it had."""
    machine, ledger = world.system.machine, world.ledger
    for name in ledger.queries:
        generation, life = ledger.living(name), machine.context.lives.get(name)
        if generation is None:
            continue
        if life is None:
            raise BrokenError(f"'{name}' did not come back")
        if str(generation.said["sink"]) == "callback" and life.state is not QueryState.INCOMPLETE:
            raise BrokenError(f"'{name}' is {life.state}, but nobody has given its callback")
    _same("streams", sorted(world.system.ingest.streams), sorted(ledger.catalog.get(STREAMS, {})))


def declared_again(world: World) -> None:
    """At rest the same may be declared again, anything else is refused, and nothing is different afterwards."""
    catalog, number = world.ledger.catalog, world.ledger.number
    made: list[tuple[Callable[[int], m.Command], str]] = []
    for name, entry in catalog.get(CLASSES, {}).items():
        made.append((partial(m.DeclareClass, query_class=stored_class(name, entry)), ""))
        other, shown = QueryClass(name, entry["priority"] + 1), f"priority {entry['priority']:g}, declared now with"
        made.append((partial(m.DeclareClass, query_class=other), shown))
    for name, entry in catalog.get(STREAMS, {}).items():
        stream = stored_stream(name, entry)
        made.append((partial(m.DeclareStream, stream=stream, entry=entry), ""))
        other_entry, shown = {**entry, "ahead": 7.0}, "declared now with ahead 7"
        made.append((partial(m.DeclareStream, stream=stream, entry=other_entry), shown))
    for life in world.system.machine.context.lives.values():
        if life.state is not QueryState.INCOMPLETE:
            made.append((world.users.add(life.query), ""))
            other_query = replace(life.query, lag="skip, tuples=77")
            made.append((world.users.add(other_query), "declared now with lag 'skip, tuples=77'"))
    for make, shown in made:
        error = world.ask_at_rest(make).error
        if (error is None) != (not shown) or shown not in str(error):
            raise BrokenError(f"declared again: {error or 'done'}, expected {shown or 'that it is done'}")
    if world.ledger.number != number:
        raise BrokenError("declaring again wrote commits")
    as_committed(world)
