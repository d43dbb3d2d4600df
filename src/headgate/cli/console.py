"""Output: results to stdout; notes and errors to stderr."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from headgate.cli.signals import exit_code

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def examples(*lines: str) -> str:
    """The examples shown below a command's help."""
    return "\n".join(["Examples:", *(f"[dim]$[/dim] headgate {line}" for line in lines)])


def note(text: str) -> None:
    """Say something about the output, on stderr."""
    typer.echo(text, err=True)


def interrupted(finished: int, asked: int) -> typer.Exit:
    """The exit after a signal, once the results of finished policies are shown."""
    note(f"headgate: interrupted, {finished} of {asked} policies finished")
    return typer.Exit(exit_code())


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
