"""One string names a policy everywhere, with its settings: `"bsd, clusters=12"`.

To add one, write a module in a family's folder whose class has the decorator `@register("name")`; nothing else needs to
change. A new folder must be added to `FAMILIES`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import TypeVar

from headgate.model import HeadgateError, Spec, unknown
from headgate.policies.contract import Policy

Registered = TypeVar("Registered", bound=type[Policy])

FAMILIES = ("adaptive", "aurora", "baseline", "classes", "memory", "slowdown")  # folders beside this file
_POLICIES: dict[str, type[Policy]] = {}


def register(name: str) -> Callable[[Registered], Registered]:
    """Make a policy known under a name."""

    def enter(policy: Registered) -> Registered:
        if name in _POLICIES:
            raise ValueError(f"there is a policy '{name}' already: {_POLICIES[name].__qualname__}")
        policy.name = name
        _POLICIES[name] = policy
        return policy

    return enter


def policies() -> dict[str, type[Policy]]:
    """All policies by name: the package's own, those of installed plugins, and those registered by hand.

    A package offers policies by an entry point of the group `headgate.policies` that names the module to import.
    """
    _load()
    return dict(sorted(_POLICIES.items()))


def create(text: str) -> Policy:
    """The policy that a string names.

    >>> create("hnr, level=operator")
    <policy hnr, level=operator>
    >>> create("hnrx")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: unknown policy 'hnrx'; did you mean 'hnr' or 'hr'?
    """
    spec = Spec.parse(text)
    registered = policies()
    if spec.name not in registered:
        raise unknown("policy", spec.name, registered)
    try:
        return registered[spec.name](**spec.settings)
    except HeadgateError as error:
        raise error.at(f"policy '{text}'") from None


@cache
def _load() -> None:
    """Import every module that registers policies, once."""
    for family in FAMILIES:
        package = importlib.import_module(f"headgate.policies.{family}")
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
    for plugin in entry_points(group="headgate.policies"):
        plugin.load()
