"""The fused forms by the core operator of their queries; a form registers itself, see the package's docstring."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol, Self, TypeVar

import pyarrow as pa

from headgate.model import Operator, Source
from headgate.plan.fusion_template import Template
from headgate.spark.compile.executor_writes import Written
from headgate.spark.compile.frames import Catalog
from headgate.spark.compile.leaf_rows import Leaves, Logs
from headgate.spark.compile.prepared_query import Failure, PreparedQuery

CoreType = type[Operator] | type[Source]
Form = TypeVar("Form", bound="type[FusedJob]")
_FORMS: dict[CoreType, type[FusedJob]] = {}


class Member(NamedTuple):
    """A query of a group."""

    template: Template
    prepared: PreparedQuery


class MemberResult(NamedTuple):
    """What an isolating run gives a member: its rows, with `_arrival` and `_closes`, and what failed for it."""

    rows: pa.Table
    failures: tuple[Failure, ...]


class FusedJob(Protocol):
    """A group of queries that runs as one Spark job. `leaves` are those of each member, in the members' order."""

    @classmethod
    def of(cls, catalog: Catalog, members: Sequence[Member]) -> Self:
        """Compile a group, whose templates have an equal `form`."""

    def run(self, leaves: Sequence[Leaves], logs: Logs) -> list[pa.Table]:
        """The rows that the run adds for each member, with `_arrival` and `_closes`."""

    def run_isolating(self, leaves: Sequence[Leaves], logs: Logs) -> list[MemberResult]:
        """The same where expressions may fail: a failure is one of a row and a member, and not of the job."""

    def write(self, leaves: Sequence[Leaves], logs: Logs, aside: Path) -> Sequence[pa.Table | Written] | None:
        """The same for large trains, which executors read and write into `aside`; None: a job for each member."""


def register(core: CoreType) -> Callable[[Form], Form]:
    """Make a form known for queries whose core is of this class."""

    def enter(form: Form) -> Form:
        if core in _FORMS:
            raise ValueError(f"there is a fused form for {core.__name__} already: {_FORMS[core].__qualname__}")
        _FORMS[core] = form
        return form

    return enter


def forms() -> dict[CoreType, type[FusedJob]]:
    """All forms by the class of their core."""
    _load()
    return dict(_FORMS)


def fuse(catalog: Catalog, members: Sequence[Member]) -> FusedJob:
    """Compile the members of a group, whose templates have an equal `form`, into one job."""
    _load()
    return _FORMS[type(members[0].template.core)].of(catalog, members)


@cache
def _load() -> None:
    """Import every module of this package, once: those with a form register it."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
