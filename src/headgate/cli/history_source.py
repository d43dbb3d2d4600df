"""The history that a command is asked about: of a data directory, or of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from headgate.cli.progress import Bar
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from headgate.history.history import History

EVERY = 1000  # lines between two looks at the progress
Answer = TypeVar("Answer")

Source = Annotated[
    Path,
    typer.Argument(
        help="The directory of a run, also while it runs, or a trace that --record wrote.",
        show_default=False,
        metavar="DIR|TRACE",
    ),
]
OptionalSource = Annotated[
    Path | None,
    typer.Argument(
        help="The directory of a run, also while it runs, or a trace that --record wrote.",
        show_default=False,
        metavar="DIR|TRACE",
    ),
]
FilePolicies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        help="Where a policy of your own is that the trace names, as ./mine.py:Mine; repeat for more.",
        show_default=False,
        metavar="POLICY",
    ),
]


def read_source(path: Path, policies: Sequence[str] = ()) -> History:
    """The history of a data directory or a trace; refuses one in which nothing has run.

    `policies` are loaded policies of files, which a trace may name.
    """
    history = _read_directory(path) if path.is_dir() else _read_trace(path, policies)
    if not history.runs and not history.under_way:
        raise HeadgateError("nothing has run yet", where=str(path), hint="ask again when something has")
    return history


def _read_directory(path: Path) -> History:
    from headgate.history.ring import read_history

    return read_history(path)


def _read_trace(path: Path, policies: Sequence[str]) -> History:
    from headgate.history.from_trace import history_of_trace
    from headgate.history.ring import is_history_file, read_history_file

    if path.is_file() and is_history_file(path):
        return read_history_file(path)
    return read_trace(path, lambda lines: history_of_trace(lines, policies))


def load_given(policies: Sequence[str]) -> list[str]:
    """Load policies of files, and return their names."""
    if not policies:
        return []
    from headgate.policy_files import load_policies

    files = {text: load_policies(text) for text in policies}
    for text, loaded in files.items():
        if not loaded:
            raise HeadgateError(
                f"--policy: '{text}' is not a policy of a file", hint="leave it out: the trace says which it is"
            )
    return [file.name for loaded in files.values() for file in loaded]


def read_trace(trace: Path, ask: Callable[[Iterable[str]], Answer]) -> Answer:
    """What a trace answers, read line by line, with a bar if that takes long."""
    try:
        with trace.open(encoding="utf-8") as lines, Bar(max(1, trace.stat().st_size), what="bytes") as bar:
            return ask(_watched(lines, bar))
    except UnicodeDecodeError:
        raise HeadgateError(
            "this is not a trace", where=str(trace), hint="give the file of simulate --record"
        ) from None
    except HeadgateError as error:
        raise error.at(str(trace)) from None


def _watched(lines: Iterable[str], bar: Bar) -> Iterator[str]:
    done = 0
    for number, line in enumerate(lines):
        if number % EVERY == 0:
            bar.at(done)
        done += len(line)
        yield line
