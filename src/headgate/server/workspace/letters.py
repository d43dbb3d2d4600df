"""The dead letters of a stream as a tenant sees them: page by page, filtered, and replayed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from headgate.model import HeadgateError
from headgate.server.paging import Page, cursor, position
from headgate.server.problems import own_words
from headgate.server.workspace.names import Names
from headgate.spark.session import Session
from headgate.spark.store.dead_letters import Letter

KIND = "dead letters"
LATEST = 1e18  # seconds: no arrival is later, and larger numbers in a cursor are none of ours


@dataclass(frozen=True, slots=True)
class Letters:
    """The dead letters of one stream, by the engine's name of it."""

    session: Session
    names: Names
    stream: str

    def page(self, reason: str, query: str | None, after: str | None, limit: int) -> Page[Letter]:
        """The newest letters first: those whose reason has a text, and those of one query; or those after a cursor."""
        whole = None if query is None else self.names.whole(query)
        there = self.session.engine.ingest.letters.get(self.stream)
        kept = [] if there is None else there.letters()  # none if the stream was dropped just now
        own = [letter for letter in kept if letter.query is None or self.names.has(letter.query)]
        wanted = [letter for letter in own if reason in letter.reason and whole in (None, letter.query)]
        wanted = sorted(wanted, key=lambda letter: letter.arrival)[::-1]
        arrival, had = (None, 0) if after is None else _last(after)
        if arrival is not None:
            same = sum(letter.arrival == arrival for letter in wanted)
            wanted = [letter for letter in wanted if letter.arrival <= arrival][min(had, same) :]
        chosen = wanted[:limit]
        return Page(chosen, _next(chosen, arrival, had) if len(wanted) > limit else None)

    def replay(self, reason: str) -> dict[str, Any]:
        """Append the letters to their stream again, and tell what became of them."""
        outcome = self.session.replay(self.stream, reason)
        return {
            "taken": outcome.taken,
            "dead_again": _by_reason(outcome.dead_again, self.names),
            "left": _by_reason(outcome.left, self.names),
        }

    def json(self, letter: Letter) -> dict[str, Any]:
        """A letter as the API shows it."""
        found: dict[str, Any] = {"reason": own_words(letter.reason, self.names.tenant), "arrival": letter.arrival}
        if letter.query is not None:
            found["query"] = self.names.short(letter.query)
        if letter.offsets is not None:
            found["offsets"] = [[self.names.short(stream), offset] for stream, offset in letter.offsets]
        more = {"row": letter.row, "text": letter.text, "offset": letter.offset, "values": letter.values}
        return found | {name: value for name, value in more.items() if value is not None}


def _last(after: str) -> tuple[float, int]:
    match position(after, KIND):
        case [float() | int() as arrival, int(had)] if had > 0 and abs(arrival) < LATEST:
            return float(arrival), had
    raise HeadgateError("the cursor is not one that this server gave", where="cursor", hint="leave it out to begin")


def _next(chosen: list[Letter], arrival: float | None, had: int) -> str:
    """The arrival of the last letter, and how many of that arrival have been given."""
    last = chosen[-1].arrival
    given = sum(letter.arrival == last for letter in chosen)
    return cursor(KIND, last, given + (had if last == arrival else 0))


def _by_reason(counts: Counter[str], names: Names) -> dict[str, int]:
    return {own_words(reason, names.tenant): count for reason, count in counts.items()}
