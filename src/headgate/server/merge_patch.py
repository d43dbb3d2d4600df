"""JSON merge patches (RFC 7396): what is different between two JSON values, as small as the format allows.

A patch of an object has the members that are new or different; a member that is gone is null. Everything else, lists
too, is given whole. The format cannot say that a member becomes null, so the values have no nulls.
"""

from __future__ import annotations

from typing import Any


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The patch that makes one object of another; empty if they are equal.

    >>> difference({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 2, "d": 4}, "e": 5})
    {'a': None, 'b': {'d': 4}, 'e': 5}
    """
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        former = before.get(name)
        if former is value and value is not None:
            continue  # what is made once and has not changed since is the same object
        if name in before and isinstance(value, dict) and isinstance(former, dict):
            if inner := difference(former, value):
                patch[name] = inner
        elif name not in before or former != value or type(former) is not type(value):
            patch[name] = value
    return patch


def applied(patch: Any, value: Any) -> Any:
    """The value after a patch, as RFC 7396 defines it.

    >>> applied({"a": None, "b": {"d": 4}}, {"a": 1, "b": {"c": 2}})
    {'b': {'c': 2, 'd': 4}}
    """
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for name, member in patch.items():
        if member is None:
            result.pop(name, None)
        else:
            result[name] = applied(member, result.get(name))
    return result
