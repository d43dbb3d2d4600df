"""Which queries a person must see first: those that failed or stalled, then late ones, then those whose tuples wait."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate.spark.status import StatusLine

SHORT = 2.0  # seconds; a tuple that has waited less is on its way
ORDER = (
    "suspended",
    "incomplete",
    "stalled",
    "late",
    "waiting",
    "running",
    "paused",
)  # of what is counted; other states come behind


def shown_state(line: StatusLine) -> str:
    """The state of a query as the table shows it: a running one may be stalled or late."""
    if line.stalled is not None:
        return "stalled"
    return "late" if line.is_late else line.state


def by_urgency(lines: Iterable[StatusLine]) -> list[StatusLine]:
    """Queries that failed or stalled, late ones, those that wait, and the rest; then by priority, the oldest first.

    Times of waiting count in steps that double (2 s, 4 s, 8 s): otherwise rows would change places at every look.
    """
    return sorted(lines, key=_urgency)


def counted_states(lines: Iterable[StatusLine]) -> str:
    """How many queries there are in each state, the most urgent first, as "1 suspended, 2 late, 21 running"."""
    counts = Counter(map(shown_state, lines))
    known = {state: counts.pop(state) for state in ORDER if state in counts}
    return ", ".join(f"{count:,} {state}" for state, count in (*known.items(), *sorted(counts.items())))


def _urgency(line: StatusLine) -> tuple[int, int, float]:
    steps = math.floor(math.log2(line.oldest_wait)) if line.oldest_wait >= SHORT else -1
    if line.state in ("suspended", "incomplete") or line.stalled is not None:
        group = 0
    elif line.is_late:
        group = 1
    else:
        group = 2 if steps >= 0 or line.state == "waiting" else 3
    return group, -steps, -line.priority
