"""The journal as a tenant sees it: the changes of its own queries, page by page or from a line on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate.model import HeadgateError
from headgate.server.paging import Page, cursor, position
from headgate.server.problems import own_words
from headgate.server.workspace.names import Names
from headgate.spark.store.journal import Entry, read_journal

KIND = "journal"


def entry_json(entry: Entry, names: Names) -> dict[str, Any]:
    """A line as the API shows it."""
    return entry.to_json() | {"query": names.short(entry.query), "reason": own_words(entry.reason, names.tenant)}


def entry_cursor(entry: Entry, names: Names) -> str:
    """The cursor of a line: what it says is enough to find it again."""
    return cursor(KIND, entry.at, names.short(entry.query), entry.before, entry.after)


@dataclass(frozen=True, slots=True)
class JournalLines:
    """The journal of a data directory, as far as it is of one tenant."""

    directory: Path
    names: Names

    def page(self, query: str | None, after: str | None, limit: int) -> Page[Entry]:
        """The newest lines first, of all queries or of one; or those before a line."""
        entries = self._own(read_journal(self.directory, None if query is None else self.names.whole(query)))
        if after is not None:
            entries = self._before(entries, after)
        chosen = entries[-limit:][::-1]
        more = len(entries) > limit
        return Page(chosen, entry_cursor(chosen[-1], self.names) if more else None)

    def since(self, after: str, limit: int) -> list[Entry]:
        """The lines after one, oldest first; only the newest if there are more than the limit."""
        entries = self._own(read_journal(self.directory))
        place, at = self._found(entries, after)
        later = [entry for entry in entries if entry.at > at] if place is None else entries[place + 1 :]
        return later[-limit:]

    def _own(self, entries: Iterable[Entry]) -> list[Entry]:
        return [entry for entry in entries if self.names.has(entry.query)]

    def _before(self, entries: Sequence[Entry], after: str) -> list[Entry]:
        place, at = self._found(entries, after)
        return [entry for entry in entries if entry.at < at] if place is None else list(entries[:place])

    def _found(self, entries: Sequence[Entry], text: str) -> tuple[int | None, float]:
        """Where the line of a cursor is, None if it is no longer kept, and its time."""
        match position(text, KIND):
            case [float() | int() as at, str(query), str(before), str(after)] if not isinstance(at, bool):
                wanted = (at, self.names.whole(query), before, after)
            case _:
                hint = "leave it out to begin"
                raise HeadgateError("the cursor is not one that this server gave", where="cursor", hint=hint)
        for place in range(len(entries) - 1, -1, -1):
            entry = entries[place]
            if (entry.at, entry.query, entry.before, entry.after) == wanted:
                return place, at
        return None, at
