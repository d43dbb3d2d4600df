"""One string names a policy everywhere, with its settings: `"bsd, clusters=12"`.

To add one, write a module in a family's folder whose class has the decorator `@register("name")`; nothing else needs to
change. A new folder must be added to `FAMILIES`. Policies of a user's own file (`./mine.py:Mine`) are put here by
`headgate.policy_files`; nothing in this module reads a file because its name stands in a string.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import TypeVar

from headgate.model import HeadgateError, Spec, unknown
from headgate.model.policy_names import is_from_file
from headgate.policies.contract import Policy
from headgate.policies.failures import failure_text
from headgate.stats import STATISTICS

Registered = TypeVar("Registered", bound=type[Policy])

FAMILIES = ("adaptive", "aurora", "baseline", "classes", "memory", "slowdown", "targets")  # folders beside this file
_POLICIES: dict[str, type[Policy]] = {}
_FROM_FILES: dict[str, tuple[type[Policy], str]] = {}  # with the place of the class: ./mine.py:12


def register(name: str) -> Callable[[Registered], Registered]:
    """Make a policy known under a name."""

    def enter(policy: Registered) -> Registered:
        if name in _POLICIES and not _is_same_code(policy, _POLICIES[name]):
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


def register_from_file(name: str, policy: type[Policy], place: str) -> None:
    """Make a policy of a file known under its name `./mine.py:Mine`; a newer version takes the place of the older."""
    policy.name = name
    _FROM_FILES[name] = policy, place


def find(name: str) -> type[Policy]:
    """The policy of a name, or an error that tells which there are."""
    if name in _FROM_FILES:
        return _FROM_FILES[name][0]
    if is_from_file(name):
        raise HeadgateError(
            f"policy '{name}' is code in a file, which is read only if you say so",
            hint="give it with --policy, or to the session",
        )
    registered = policies()
    if name not in registered:
        raise unknown("policy", name, registered)
    return registered[name]


def create(text: str) -> Policy:
    """The policy that a string names.

    >>> create("hnr, level=operator")
    <policy hnr, level=operator>
    >>> create("hnrx")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: unknown policy 'hnrx'; did you mean 'hnr' or 'hr'?
    """
    spec = Spec.parse(text)
    kind = find(spec.name)
    try:
        return kind(**spec.settings) if spec.name not in _FROM_FILES else _create_from_file(spec)
    except HeadgateError as error:
        raise error.at(f"policy '{text}'") from None


def _create_from_file(spec: Spec) -> Policy:
    kind, place = _FROM_FILES[spec.name]
    try:
        policy = kind(**spec.settings)
    except HeadgateError:
        raise
    except Exception as error:
        raise HeadgateError(failure_text(error, kind, place), hint="correct its __init__") from error
    for need in sorted(set(policy.needs) - STATISTICS):
        raise unknown("statistic", need, STATISTICS, where=place)
    return policy


def _is_same_code(policy: type[Policy], other: type[Policy]) -> bool:
    """Whether a class is another version of one of the same file, which has been read again."""
    return (policy.__module__, policy.__qualname__) == (other.__module__, other.__qualname__)


@cache
def _load() -> None:
    """Import every module that registers policies, once."""
    for family in FAMILIES:
        package = importlib.import_module(f"headgate.policies.{family}")
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
    for plugin in entry_points(group="headgate.policies"):
        plugin.load()
