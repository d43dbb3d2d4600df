"""Settings of the engine so small that sealing, dropping, merging and checkpoints happen all the time.

They are no part of the public interface, so they are looked up by name, and one that is gone is left alone.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

from headgate.core.class_guard import ClassGuard

PREFIX = "headgate.spark"
OFTEN = {
    "CHECKPOINT": 3,
    "SEAL_APPENDS": 2,
    "FAN": 2,
    "memory_budget": 2_000,
    "seal_rows": 8,
    "REMEMBERED": 3,
    "FOLDED_AT": 4,
}
EXECUTORS = {"LARGE": 3, "VAST": 9, "_FEW": 1, "MANY": 5, "FEW": 2, "SMALL": 4, "BATCH": 3, "PANE_BYTES": 5_000}
GIVES_WAY = "gives way"  # every run that may be cancelled for something more important is, whatever that is worth
NAMES = (*OFTEN, *EXECUTORS, GIVES_WAY)


def draw_small(random: Random, executors: bool) -> dict[str, int]:
    """As they are, or small; those for executors too, now and then."""
    gives_way = {GIVES_WAY: 1} if random.random() < 0.4 else {}
    if random.random() < 0.2:
        return gives_way
    return gives_way | ({**OFTEN, **EXECUTORS} if executors and random.random() < 0.3 else OFTEN)


@contextmanager
def made_small(settings: Mapping[str, int]) -> Iterator[None]:
    """Let constants of the engine's modules, and defaults of arguments, have these values for a while."""
    undo: list[tuple[Any, str, Any]] = []
    for module in [each for name, each in sys.modules.items() if name.startswith(PREFIX)]:
        for name, value in settings.items():
            if isinstance(getattr(module, name, None), int):
                undo.append((module, name, getattr(module, name)))
                setattr(module, name, value)
    undo += _defaults(settings)
    if settings.get(GIVES_WAY):
        undo.append((ClassGuard, "_gain", ClassGuard._gain))
        setattr(ClassGuard, "_gain", lambda guard, best, own, left, spent: 1.0)  # noqa: B010 - mypy minds a method
    try:
        yield
    finally:
        for owner, name, former in reversed(undo):
            setattr(owner, name, former)


def _defaults(settings: Mapping[str, int]) -> list[tuple[Any, str, Any]]:
    """Defaults were taken from the constants when the function was made."""
    from headgate.spark.store.log.stream_log import StreamLog

    function = getattr(StreamLog.open, "__func__", None)
    if function is None or not function.__defaults__:
        return []
    named = [each for each in inspect.signature(function).parameters.values() if each.default is not each.empty]
    former = function.__defaults__
    function.__defaults__ = tuple(settings.get(each.name, each.default) for each in named)
    return [(function, "__defaults__", former)]
