"""The thread that writes down what happened: the journal, the log, and the trace if one is recorded."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from headgate import logs
from headgate.spark.machine.context import Notice
from headgate.spark.machine.lifecycle import Transition
from headgate.spark.store.journal import Entry, Journal

_log = logs.logger("engine")


class Recorder:
    """Writes in the order in which things happened; whoever notes something never waits for it."""

    def __init__(self, journal: Journal, record: Callable[[str], Any] | None) -> None:
        self._journal, self._record = journal, record
        self._queue: queue.SimpleQueue[Transition | Notice | str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="headgate-notes", daemon=True)
        self._thread.start()

    def note(self, what: Transition | Notice | str) -> None:
        """Write down a transition, a notice, or a line of the trace."""
        self._queue.put(what)

    def close(self) -> None:
        """Let all be written."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (what := self._queue.get()) is not None:
            try:
                self._write(what)
            except Exception as error:  # what is written down is not worth a thread
                _log.error("could not be written down", what=what, error=error)

    def _write(self, what: Transition | Notice | str) -> None:
        if isinstance(what, str):
            if self._record is not None:
                self._record(what)
        elif isinstance(what, Notice):
            getattr(_log, what.level)(what.text, **what.fields)
        else:
            self._journal.write([Entry(what.at, what.query, what.before, what.after, what.reason)])
            after = {"after": what.after} if what.after else {}
            _log.info("query changed", query=what.query, before=what.before, **after, reason=what.reason)
