"""The thread that writes the journal, the history, the program's log, and the trace if one is recorded."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from headgate import logs
from headgate.history.records import Record
from headgate.history.ring import HistoryRing
from headgate.spark.machine.context import Note, Notice
from headgate.spark.store.journal import Entry as JournalEntry
from headgate.spark.store.journal import Journal

_log = logs.logger("engine")

Entry = Note | str  # a line of a trace is text


class Recorder:
    """Writes entries in the order of `note` calls, which never wait for the disk."""

    def __init__(self, journal: Journal, history: HistoryRing, record: Callable[[str], Any] | None) -> None:
        self._journal, self._history, self._record = journal, history, record
        self.listeners: tuple[Callable[[JournalEntry], object], ...] = ()  # are told of every line of the journal
        self._queue: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="headgate-notes", daemon=True)
        self._thread.start()

    def note(self, entry: Entry) -> None:
        """Record a transition, a log notice, a record of the history, or a line of the trace."""
        self._queue.put(entry)

    def close(self) -> None:
        """Return once everything is written."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (entry := self._queue.get()) is not None:
            try:
                self._write(entry)
                if self._queue.empty():
                    self._history.flush()
            except Exception as error:  # a full disk must not end the thread
                _log.error("could not be written down", what=entry, error=error)
        with suppress(OSError):
            self._history.close()

    def _write(self, entry: Entry) -> None:
        if isinstance(entry, str):
            if self._record is not None:
                self._record(entry)
        elif isinstance(entry, Notice):
            getattr(_log, entry.level)(entry.text, **entry.fields)
        elif isinstance(entry, Record):
            self._history.write(entry)
        else:
            line = JournalEntry(entry.at, entry.query, entry.before, entry.after, entry.reason)
            self._journal.write([line])
            for tell in self.listeners:
                tell(line)
            after = {"after": entry.after} if entry.after else {}
            _log.info("query changed", query=entry.query, before=entry.before, **after, reason=entry.reason)
