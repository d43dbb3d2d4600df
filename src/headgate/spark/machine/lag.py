"""Lag limits: what happens when a query falls too far behind its streams, whose tuples must be kept for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from headgate.model import HeadgateError, Spec, unknown
from headgate.model.values import as_text

KINDS = ("wait", "skip")
_EXAMPLE = 'write for example "skip, tuples=100000"'


@dataclass(frozen=True, slots=True)
class Lag:
    """How many tuples of a stream may wait for a query before its sources wait, or it skips to the stream's end."""

    kind: str
    tuples: int

    @property
    def skips(self) -> bool:
        return self.kind == "skip"


def parse_lag(text: str) -> Lag:
    """Read a lag limit.

    >>> parse_lag("skip, tuples=1000")
    Lag(kind='skip', tuples=1000)
    >>> parse_lag("drop, tuples=1000")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: unknown lag limit 'drop'; known: skip, wait
    """
    if not isinstance(text, str):
        raise HeadgateError(f"a lag limit must be text, found {as_text(text)}", hint=_EXAMPLE)
    return _parsed(text)


@cache
def _parsed(text: str) -> Lag:
    spec = Spec.parse(text)
    if spec.name not in KINDS:
        raise unknown("lag limit", spec.name, KINDS)
    spec.only(("tuples",))
    tuples = spec.settings.get("tuples")
    if not isinstance(tuples, int) or isinstance(tuples, bool) or tuples < 1:
        raise HeadgateError(f"a lag limit needs a whole number of tuples from 1, found {tuples}", hint=_EXAMPLE)
    return Lag(spec.name, tuples)
