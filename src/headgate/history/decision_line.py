"""The line of a history that says why a run was chosen: the longest of all, so it is decoded only when asked for."""

from __future__ import annotations

import json
from typing import Any

from headgate.model import WaitingUnit, Why

BEGINNING = b'{"why":{"run":'


def why_of_line(line: bytes, run: int) -> Why | None:
    """The decision for a run; None if the line is damaged, or of another run.

    >>> why_of_line(b'{"why":{"run":7,"policy":"hnr","rule":"highest","winner":"fire"}}', 7).winner
    'fire'
    """
    try:
        plain = json.loads(line)["why"]
        return _why(plain) if plain.pop("run") == run else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def mentions(line: bytes, query: str) -> bool:
    """Whether a line has the name of a query; without decoding the line."""
    return json.dumps(query, ensure_ascii=False).encode(errors="backslashreplace") in line


def _why(plain: dict[str, Any]) -> Why:
    waiting = plain.pop("waiting", ())
    for unit in waiting:
        unit["queries"] = tuple(unit["queries"])
    return Why(**plain, waiting=tuple([WaitingUnit(**unit) for unit in waiting]))
