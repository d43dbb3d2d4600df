"""Targets: how soon results are wanted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headgate.model.errors import HeadgateError
from headgate.model.spec import seconds as read_seconds

USUAL_PERCENTILE = 95.0
_TEXT = re.compile(r"(?:p(?P<percentile>[\d.]+)\s+)?(?P<time>[^±]+?)\s*(?:(?:±|\+-|\+/-)\s*(?P<tolerance>[\d.]+)\s*%)?")
_HINT = 'write target = "500 ms", "p99 2 s" or "500 ms ± 20 %"'


@dataclass(frozen=True, slots=True)
class Target:
    """So many percent of results come within so many seconds; a tolerance says by how much that may be exceeded.

    >>> Target.parse("p99 2 s ± 20 %")
    Target(seconds=2.0, percentile=99.0, tolerance=0.2)
    >>> str(Target.parse("500ms")), Target.parse("500 ms").limit
    ('p95 500 ms', 0.5)
    """

    seconds: float
    percentile: float = USUAL_PERCENTILE
    tolerance: float = 0.0  # a share of the seconds

    @classmethod
    def parse(cls, text: str) -> Target:
        match = _TEXT.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None:
            raise HeadgateError(f"'{text}' is not a target", hint=_HINT)
        if match["time"].replace(".", "", 1).isdigit():
            hint = f'write target = "{match["time"]} s" or "{match["time"]} ms"'
            raise HeadgateError(f"the target '{text}' has no unit", hint=hint)
        try:
            seconds = read_seconds(match["time"], what="a target")
            percentile = float(match["percentile"] or USUAL_PERCENTILE)
            tolerance = float(match["tolerance"] or 0.0) / 100
        except (HeadgateError, ValueError):
            raise HeadgateError(f"'{text}' is not a target", hint=_HINT) from None
        if not 0 < seconds < float("inf"):
            raise HeadgateError(f"a target is a time above 0, found '{text}'", hint=_HINT)
        if not 0 < percentile <= 100:
            raise HeadgateError(f"a percentile is above 0 and at most 100, found '{text}'", hint=_HINT)
        return cls(seconds, percentile, tolerance)

    @property
    def limit(self) -> float:
        """Seconds above which it is missed."""
        return self.seconds * (1 + self.tolerance)

    def __str__(self) -> str:
        # Twelve digits, since commits store this text and `parse` must find the same target in it.
        time = f"{self.seconds:.12g} s" if self.seconds >= 1 else f"{self.seconds * 1000:.12g} ms"
        tolerance = f" ± {self.tolerance * 100:.12g} %" if self.tolerance else ""
        return f"p{self.percentile:.12g} {time}{tolerance}"
