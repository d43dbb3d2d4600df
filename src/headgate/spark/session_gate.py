"""The decorator of public calls: refuses them once the session is closed, and turns errors into `HeadgateError`."""

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
    """Whether a session accepts calls."""

    def __init__(self) -> None:
        self.closed = False

    def check(self) -> None:
        if self.closed:
            raise closed()


class Gated(Protocol):
    """A session, or an object that belongs to one."""

    @property
    def gate(self) -> Gate: ...


S = TypeVar("S", bound=Gated)


def gated(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Make a method a public call. If it fails and the session was closed meanwhile, that is reported as the reason."""

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
