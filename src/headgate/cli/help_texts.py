"""How commands show their help: sentences in one piece, and no type beside a switch or a list."""

from __future__ import annotations

import inspect
from typing import Any

from typer.core import TyperCommand, TyperGroup


def unwrapped(text: str | None) -> str | None:
    r"""A docstring with every paragraph on one line, so that only the terminal's width breaks it.

    >>> unwrapped("Say it.\n\n    A sentence that goes\n    on.\n")
    'Say it.\n\nA sentence that goes on.'
    """
    if text is None:
        return None
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


class ReadableCommand(TyperCommand):
    """A command with readable help."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.help = unwrapped(self.help)

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_that_say_nothing(super().get_params(ctx))


class ReadableGroup(TyperGroup):
    """A group of commands with readable help."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.help = unwrapped(self.help)

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_that_say_nothing(super().get_params(ctx))


def _without_types_that_say_nothing(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) or getattr(parameter, "count", False):
            parameter.metavar = ""
        if getattr(parameter, "nargs", 1) == -1:  # "list[Path]" is no word for people
            parameter.display_type_rich = lambda ctx: None
    return parameters
