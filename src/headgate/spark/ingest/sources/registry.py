"""Which sources there are: each module of this folder registers the names under which streams can ask for it.

A source is written as one string, a name and its settings: `"directory, path=incoming"`. To add one, write a module
here whose opener has the decorator `@register("kafka")`; nothing else needs to change. An installed package adds its
own by an entry point of the group `headgate.sources` that names the module to import.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeVar

from headgate.model import HeadgateError, Stream, unknown
from headgate.spark.ingest.sources.base import Reader
from headgate.workload.settings import Settings


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """What an opener gets: the source's string, read into settings, and the stream that it is for."""

    settings: Settings
    stream: Stream
    directory: Path  # where relative paths begin
    seed: int = 1  # of all that is drawn at random
    began: float = 0.0  # when the arrivals of a synthetic source begin, in seconds since the epoch
    within: Path | None = None  # the folder in which all that is read must lie, links followed; None: anywhere


Opener = Callable[[SourceRequest], Reader]
RegisteredOpener = TypeVar("RegisteredOpener", bound=Opener)

_OPENERS: dict[str, Opener] = {}


def register(*names: str) -> Callable[[RegisteredOpener], RegisteredOpener]:
    """Make an opener known under one or more names of sources."""

    def enter(opener: RegisteredOpener) -> RegisteredOpener:
        for name in names:
            if name in _OPENERS:
                raise ValueError(f"there is a source '{name}' already: {_OPENERS[name].__qualname__}")
            _OPENERS[name] = opener
        return opener

    return enter


def open_source(
    text: str, stream: Stream, directory: Path, seed: int = 1, began: float = 0.0, within: Path | None = None
) -> Reader:
    """Open the source that a string describes; relative paths begin at `directory`, arrivals at `began`.

    With `within` it reads only files in that folder.

    Synthetic sources are named by their arrivals, "poisson, rate=500", and have the settings rows, file, repeat, batch,
    tick and one for each column; further "directory, path=…, pattern=*.jsonl, end=true" and "socket, port=9999".
    """
    try:
        settings = Settings(text)
        return _opener(settings.name)(SourceRequest(settings, stream, directory, seed, began, within))
    except HeadgateError as error:
        raise error.at(f"source of '{stream.name}'") from None


def try_source(text: str, stream: Stream, directory: Path, seed: int = 1, *, opens: bool = True) -> Reader | None:
    """Open a source to see whether that works, before it is needed; the caller closes it again.

    None for one of another package, which may do anything when it is opened, and without `opens`: then only its name is
    checked.
    """
    settings = Settings(text)
    opener = _opener(settings.name)
    if not opens or not opener.__module__.startswith("headgate."):
        return None
    return opener(SourceRequest(settings, stream, directory, seed))


def _opener(name: str) -> Opener:
    _load()
    if name not in _OPENERS:
        raise unknown("kind of source", name, _OPENERS)
    return _OPENERS[name]


@cache
def _load() -> None:
    """Import every module that registers sources, once."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
    for plugin in entry_points(group="headgate.sources"):
        plugin.load()
