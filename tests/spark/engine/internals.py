"""Access to the internal state of an engine, which callers cannot see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headgate.spark.machine.lifecycle import Life
from headgate.spark.machine.machine import Machine
from headgate.spark.machine.messages import TimePassed
from headgate.spark.session import Session


def machine(session: Session) -> Machine:
    return session.engine._owner._machine


def life(session: Session, name: str) -> Life:
    return machine(session).context.lives[name]


def prepare_query(session: Session, name: str) -> Any:
    """The prepared plan of a query as one fragment."""
    whole = life(session, name).unfragmented
    assert whole is not None
    return whole.fragments[0].prepared


def names(session: Session) -> list[str]:
    """The names of all queries."""
    return [line.name for line in session.status().queries]


@contextmanager
def still(session: Session) -> Iterator[None]:
    """No run is started meanwhile."""
    running = machine(session).runs
    running.closing = True
    try:
        yield
    finally:
        running.closing = False
        session.engine._owner.tell(TimePassed())
