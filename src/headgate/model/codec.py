"""The model as plain JSON values and back: what traces carry."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from math import inf
from typing import Any

from headgate.model import operator, qos, query, schedule, stream, target, window

_CLASSES: dict[str, type] = {
    member.__name__: member
    for module in (operator, qos, query, schedule, stream, target, window)
    for member in vars(module).values()
    if isinstance(member, type) and is_dataclass(member)
}
_ENDLESS = {"is": "inf"}  # which JSON has no number for


def to_plain(value: Any) -> Any:
    """Dataclasses become objects that carry their class; fields at their defaults are left out.

    >>> to_plain(window.Window(10.0, 5.0))
    {'is': 'Window', 'size': 10.0, 'slide': 5.0}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {"is": type(value).__name__, **{key: to_plain(item) for key, item in _stated(value).items()}}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return _ENDLESS if value == inf else value


def from_plain(value: Any) -> Any:
    """What `to_plain` was given; lists come back as tuples.

    >>> from_plain({'is': 'Window', 'size': 10.0, 'slide': 5.0})
    Window(size=10.0, slide=5.0)
    >>> from_plain(to_plain(stream.Stream(name="s", ahead=inf))).ahead
    inf
    """
    if value == _ENDLESS:
        return inf
    if isinstance(value, dict):
        kind = _CLASSES[value["is"]]
        return kind(**{key: from_plain(item) for key, item in value.items() if key != "is"})
    if isinstance(value, list):
        return tuple(from_plain(item) for item in value)
    return value


def _stated(value: Any) -> dict[str, Any]:
    stated: dict[str, Any] = {}
    for part in fields(value):
        item = getattr(value, part.name)
        default = part.default_factory() if part.default_factory is not MISSING else part.default
        if item != default:
            stated[part.name] = item
    return stated
