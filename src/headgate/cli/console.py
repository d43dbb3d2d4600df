"""Output: results to stdout; notes, errors and progress to stderr."""

from __future__ import annotations

import json
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress, TaskID

INTERRUPTED = 130  # the exit code after Ctrl-C
PATIENCE = 2.0  # seconds before a progress bar appears


def examples(*lines: str) -> str:
    """The examples shown below a command's help."""
    return "\n".join(["Examples:", *(f"[dim]$[/dim] headgate {line}" for line in lines)])


def note(text: str) -> None:
    """Say something about the output, on stderr."""
    typer.echo(text, err=True)


def interrupted(finished: int, asked: int) -> typer.Exit:
    """The exit after Ctrl-C, once the results of finished policies are shown."""
    note(f"headgate: interrupted, {finished} of {asked} policies finished")
    return typer.Exit(INTERRUPTED)


def show(*parts: RenderableType) -> None:
    """Print tables and texts to stdout."""
    console = stdout()
    for part in parts:
        console.print(part)


def stdout() -> Console:
    """Where tables go; its width is that of the terminal or of COLUMNS."""
    from rich.console import Console

    return Console(highlight=False)


def show_json(tree: Any) -> None:
    """Print JSON, and nothing else, to stdout."""
    typer.echo(json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False))


class Bar:
    """A progress bar on stderr that appears on a terminal only, and only if it takes a while."""

    def __init__(self, steps: int, patience: float = PATIENCE, what: str = "policies") -> None:
        from rich.console import Console

        self._steps = steps
        self._patience = patience
        self._what = what
        self._console = Console(stderr=True)
        self._began = time.monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        self.at(0.0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def at(self, done: float, doing: str = "") -> None:
        """Show that this many steps are done; a fraction counts a step that is done in part."""
        if self._progress is None:
            if not self._console.is_terminal or time.monotonic() - self._began < self._patience:
                return
            self._progress = _progress(self._console, self._what)
            self._task = self._progress.add_task("", total=self._steps, steps=self._steps, whole=0)
            self._progress.start()
        assert self._task is not None
        self._progress.update(self._task, completed=done, whole=int(done), description=doing)


def _progress(console: Console, what: str) -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    counted = TextColumn(f"{{task.fields[whole]}}/{{task.fields[steps]}} {what}")
    doing = TextColumn("{task.description}", markup=False)
    return Progress(BarColumn(), counted, TimeElapsedColumn(), doing, console=console, transient=True)
