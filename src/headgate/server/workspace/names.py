"""The names of a tenant: within its namespace, and whole, as the engine has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from headgate.model import HeadgateError, check_name, unknown
from headgate.model.names import SEPARATOR, visible, within
from headgate.server.problems import NotFoundError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Names:
    """Translates names; without a tenant they are the same, and everything is seen.

    >>> names = Names("acme")
    >>> names.whole("hot"), names.own({"acme..hot": 1, "rival..hot": 2, "hot": 3}), names.has("rival..hot")
    ('acme..hot', {'hot': 1}, False)
    """

    tenant: str = ""

    def whole(self, name: str) -> str:
        """The engine's name for one of this tenant."""
        return within(self.tenant, name)

    def short(self, name: str) -> str:
        """The name within the tenant for one of the engine's."""
        return name.removeprefix(self.tenant + SEPARATOR) if self.tenant else name

    def has(self, name: str) -> bool:
        """Whether a name of the engine is this tenant's."""
        return not self.tenant or name.startswith(self.tenant + SEPARATOR)

    def own(self, things: Mapping[str, T]) -> dict[str, T]:
        """What is this tenant's, by its names."""
        return visible(things, self.tenant)

    def new(self, name: str, kind: str) -> str:
        """The engine's name for something new."""
        if SEPARATOR in check_name(name, f"the name of a {kind}"):
            raise HeadgateError(f"the name of a {kind} has no '{SEPARATOR}', found '{name}'", hint="write '.' or '-'")
        return check_name(self.whole(name), f"the name of a {kind}")

    def find(self, kind: str, name: str, whole_names: Iterable[str]) -> str:
        """The engine's name for something that must be there; `NotFoundError` knows only names of this tenant."""
        names = set(whole_names)
        whole = self.whole(name)
        if whole in names and self.has(whole):
            return whole
        missing = unknown(kind, name, [self.short(other) for other in names if self.has(other)])
        raise NotFoundError(missing.message, hint=missing.hint)
