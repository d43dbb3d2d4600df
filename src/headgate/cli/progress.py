"""A progress bar with the time that is left, on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from headgate.cli.number_format import rough_duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

PATIENCE = 2.0  # seconds before a progress bar appears


class TimeLeft:
    """Estimates the time left from the steps done since `begin`: what was done before took no time of this run.

    >>> clock = iter([0.0, 10.0, 12.0])
    >>> left = TimeLeft(steps=8, clock=lambda: next(clock))
    >>> left.begin(done=4)
    >>> left.at(5)
    >>> left.seconds()  # two seconds of the thirty have passed
    28.0
    """

    def __init__(self, steps: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._steps, self._clock = steps, clock
        self._before = 0.0
        self._began: float | None = None
        self._estimate: tuple[float, float] | None = None  # seconds left, and when that was so

    def begin(self, done: float) -> None:
        """Steps begin now; so many are done already."""
        self._before, self._began, self._estimate = done, self._clock(), None

    def at(self, done: float) -> None:
        """So many steps are done."""
        if self._began is None or done <= self._before:
            return
        now = self._clock()
        self._estimate = (now - self._began) / (done - self._before) * (self._steps - done), now

    def seconds(self) -> float | None:
        """The time left by now; None as long as nothing is known."""
        if self._estimate is None:
            return None
        left, then = self._estimate
        return max(0.0, left - (self._clock() - then))


class Bar:
    """A progress bar that appears on a terminal only, and only if it takes a while."""

    def __init__(self, steps: int, patience: float = PATIENCE, what: str = "policies") -> None:
        from rich.console import Console

        self._steps = steps
        self._patience = patience
        self._what = what
        self._console = Console(stderr=True)
        self._made = time.monotonic()
        self._left = TimeLeft(steps)
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def begin(self, done: float = 0.0) -> None:
        """Steps begin now, after so many that were done before."""
        self._left.begin(done)
        self.at(done)

    def at(self, done: float, doing: str = "") -> None:
        """Show that this many steps are done; a fraction counts a step that is done in part."""
        self._left.at(done)
        if self._progress is None:
            if not self._console.is_terminal or time.monotonic() - self._made < self._patience:
                return
            self._progress = _progress(self._console, self._what, self._left)
            self._task = self._progress.add_task("", total=self._steps, steps=self._steps, whole=0)
            self._progress.start()
        assert self._task is not None
        self._progress.update(self._task, completed=done, whole=int(done), description=doing)


def _progress(console: Console, what: str, left: TimeLeft) -> Progress:
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class TimeLeftColumn(ProgressColumn):
        """The time left, anew at every picture."""

        def render(self, task: Task) -> Text:
            seconds = left.seconds()
            return Text("" if seconds is None or task.finished else f"about {rough_duration(seconds)} left")

    counted = TextColumn(f"{{task.fields[whole]}}/{{task.fields[steps]}} {what}")
    doing = TextColumn("{task.description}", markup=False)
    columns = (BarColumn(), counted, TimeElapsedColumn(), TimeLeftColumn(), doing)
    return Progress(*columns, console=console, transient=True)
