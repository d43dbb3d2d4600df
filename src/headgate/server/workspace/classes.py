"""Classes of queries as a tenant sees them: those that it may use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from headgate.model import DEFAULT_CLASS, HeadgateError, QueryClass, unknown
from headgate.model.names import SEPARATOR
from headgate.server.hosting import EngineHost
from headgate.server.problems import NotFoundError
from headgate.server.workspace.names import Names
from headgate.spark.session import Session


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of the engine, or those that a tenant may use."""

    host: EngineHost
    names: Names
    allowed: frozenset[str] | None = None  # None: all

    @property
    def session(self) -> Session:
        return self.host.session()

    def all(self) -> dict[str, QueryClass]:
        classes: Mapping[str, QueryClass] = self.host.snapshot().overview.classes
        return {name: made for name, made in classes.items() if self._allows(name)}

    def _allows(self, name: str) -> bool:
        return self.allowed is None or name in self.allowed

    def get(self, name: str) -> QueryClass:
        classes = self.all()
        if name not in classes:
            missing = unknown("class", name, classes)
            raise NotFoundError(missing.message, hint=missing.hint)
        return classes[name]

    def check(self, name: str) -> None:
        """Refuse a class that is not there, or not for this tenant; the default one is made when it is needed."""
        classes = self.all()
        if name not in classes and not (name == DEFAULT_CLASS.name and self._allows(name)):
            raise unknown("class", name, classes)

    def create(self, name: str, priority: float, lag: str | None, target: str | float | None) -> QueryClass:
        if SEPARATOR in name:
            raise HeadgateError(f"the name of a class has no '{SEPARATOR}', found '{name}'", hint="write '.' or '-'")
        self.session.create_class(name, priority, lag=lag, target=target)
        self.host.changed()
        return self.get(name)

    def change(self, name: str, changes: Mapping[str, Any]) -> QueryClass:
        """Change some of its fields."""
        self.session.change_class(name, **changes)
        self.host.changed()
        return self.get(name)

    def drop(self, name: str) -> None:
        self.session.drop_class(name)

    @contextmanager
    def changing(self, name: str, if_match: str | None) -> Iterator[None]:
        """Change a class meanwhile, if its ETag is the one that was sent."""
        key = "class", name  # all tenants share the classes
        with self.host.changes.of(key, f"class '{name}'", if_match, lambda: class_json(self.get(name))):
            self.get(name)
            yield


def class_json(query_class: QueryClass) -> dict[str, Any]:
    """A class as the API shows it."""
    target = None if query_class.target is None else str(query_class.target)
    return {"name": query_class.name, "priority": query_class.priority, "lag": query_class.lag, "target": target}
