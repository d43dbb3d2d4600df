"""Shows how far a warm-up is, while a workload is opened in another thread."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TypeVar

from headgate.cli.background import Background
from headgate.cli.console import note
from headgate.cli.progress import Bar
from headgate.model.number_text import duration

POLL_INTERVAL = 0.1  # seconds between two looks at how far it is

Value = TypeVar("Value")


class WarmingDisplay:
    """A line when a warm-up begins, and on a terminal a bar with its jobs."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._done, self._jobs = 0, 0

    def told(self, done: int, jobs: int) -> None:
        """So many jobs are done of so many; called in the thread that warms up."""
        self._done, self._jobs = done, jobs

    def wait(self, opening: Background[Value]) -> Value:
        """Show how far it is until the call that warms up has ended; returns what that returns."""
        bar: Bar | None = None
        with ExitStack() as stack:
            while not opening.ended(POLL_INTERVAL):
                if bar is None and self._jobs:
                    note(f"warming up for at most {duration(self._limit)} …")
                    bar = stack.enter_context(Bar(self._jobs, what="jobs"))
                if bar is not None:
                    bar.at(self._done)
        return opening.result()
