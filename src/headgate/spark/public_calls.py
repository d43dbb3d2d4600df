"""Public calls: refused once the session is closed, and with one kind of error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from headgate.model import HeadgateError, closed
from headgate.spark.jvm.spark_logs import quietly
from headgate.spark.store.atomic_files import disk_error

P = ParamSpec("P")
R = TypeVar("R")


class Gate:
    """Whether a session takes calls."""

    def __init__(self) -> None:
        self.closed = False

    def check(self) -> None:
        if self.closed:
            raise closed()


class Gated(Protocol):
    """A session, or what belongs to one."""

    @property
    def gate(self) -> Gate: ...


S = TypeVar("S", bound=Gated)


def gated(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A public call: not on a closed session. What fails since it is closed meanwhile, fails for that reason."""

    @functools.wraps(method)
    def call(self: S, /, *given: P.args, **named: P.kwargs) -> R:
        self.gate.check()
        try:
            with quietly():
                return method(self, *given, **named)
        except Exception as error:
            if self.gate.closed:
                raise closed() from error
            if isinstance(error, ConnectionError):
                raise HeadgateError("Spark does not answer any more", hint="close the session, open another") from error
            if isinstance(error, OSError):
                raise disk_error(error) from error
            raise

    return call
