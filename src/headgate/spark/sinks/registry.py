"""Which sinks there are: each module of this folder registers a sink's name, settings, properties and opener.

A sink is written as one string, a name and its settings: `parquet`, `jsonl`, `memory, rows=10000`, `console`,
`blackhole`, `table, name=db.alerts`, `callback`. To add one, write a module here whose opener has the decorator
`@register("kafka", settings=("topic",))`; nothing else needs to change. An installed package adds its own by an entry
point of the group `headgate.sinks` that names the module to import.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from headgate.model import HeadgateError, Spec, unknown
from headgate.model.values import as_text, located
from headgate.spark.sinks.base import Call, Sink, ignore
from headgate.workload.fields import read_span

DEFAULT = "parquet"  # the sink of a query that names none
BEHIND = 1.0  # seconds that files may be behind the commits

Opener = Callable[[Spec, Path, Call], Sink]  # from the sink's string, a folder for its files, and a function to call


@dataclass(frozen=True, slots=True)
class SinkKind:
    """A registered sink: how it is opened, and what the engine must know of it."""

    open: Opener
    settings: tuple[str, ...]
    check: Callable[[Spec], None]  # refuses settings with wrong values
    in_files: bool  # results are files in the query's folder, which `FileSink` writes and everybody can read back
    own_thread: bool  # a delivery may take long, as it runs foreign code: other sinks must not wait for it
    may_lag: bool  # results may wait some time so that several commits go into one file: the setting `behind`
    needs_function: bool  # it can only be opened with a function that takes the results


_KINDS: dict[str, SinkKind] = {}


def register(
    name: str,
    *,
    settings: tuple[str, ...] = (),
    check: Callable[[Spec], None] = lambda spec: None,
    in_files: bool = False,
    own_thread: bool = True,
    may_lag: bool = False,
    needs_function: bool = False,
) -> Callable[[Opener], Opener]:
    """Make a sink known under a name; see `SinkKind` for its properties."""

    def enter(opener: Opener) -> Opener:
        if name in _KINDS:
            raise ValueError(f"there is a sink '{name}' already: {_KINDS[name].open.__qualname__}")
        keys = (*settings, "behind") if may_lag else settings
        _KINDS[name] = SinkKind(opener, keys, check, in_files, own_thread, may_lag, needs_function)
        return opener

    return enter


def parse_sink(text: str) -> Spec:
    """Check a sink's name and settings.

    >>> parse_sink("memory, rows=500").settings
    {'rows': 500}
    >>> parse_sink("parquet, behind=-1 s")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: behind: must not be negative, found -1.0; write 0 or more
    """
    spec = Spec.parse(text)
    kind = _kind(spec)
    spec.only(kind.settings)
    kind.check(spec)
    if "behind" in spec.settings:
        _behind(spec)
    return spec


def open_sink(text: str, folder: Path, call: Call | None = None) -> Sink:
    """Open the sink that a string names; its files, if any, are in `folder`.

    `call` is the function of a callback sink, and for a table sink the one that appends to the table.
    """
    spec = parse_sink(text)
    kind = _kind(spec)
    if kind.needs_function and call is None:
        raise HeadgateError(f"a {spec.name} sink needs a function", hint="give one, or choose another sink")
    return kind.open(spec, folder, ignore if call is None else call)


def behind_of(text: str | None) -> float:
    """How many seconds results may wait before they are put into files; 0 for sinks that are not files.

    >>> behind_of("parquet"), behind_of("parquet, behind=0"), behind_of('jsonl, behind="500 ms"'), behind_of("console")
    (1.0, 0.0, 0.5, 0.0)
    """
    spec = parse_sink(text or DEFAULT)
    return _behind(spec) if _kind(spec).may_lag else 0.0


def is_file(text: str | None) -> bool:
    """Whether a sink keeps results in files that can be read back.

    >>> is_file(None), is_file("jsonl"), is_file("console")
    (True, True, False)
    """
    return _kind(parse_sink(text or DEFAULT)).in_files


def needs_own_thread(text: str | None) -> bool:
    """Whether a sink runs code that is not ours and may take long, so that other sinks must not wait for it.

    >>> needs_own_thread(None), needs_own_thread("memory"), needs_own_thread("callback")
    (False, False, True)
    """
    return _kind(parse_sink(text or DEFAULT)).own_thread


def needs_function(text: str | None) -> bool:
    """Whether a sink can only be opened with a function that takes the results.

    >>> needs_function("callback"), needs_function("table, name=t"), needs_function("console")
    (True, True, False)
    """
    return _kind(parse_sink(text or DEFAULT)).needs_function


def _kind(spec: Spec) -> SinkKind:
    _load()
    if spec.name not in _KINDS:
        raise unknown("sink", spec.name, _KINDS)
    return _KINDS[spec.name]


def _behind(spec: Spec) -> float:
    value = spec.settings.get("behind", BEHIND)
    with located("behind"):
        seconds = read_span(value)
        if seconds == math.inf:
            raise HeadgateError(f"must be finite, found {as_text(value)}", hint='write for example "5 s"')
        return seconds


@cache
def _load() -> None:
    """Import every module that registers sinks, once."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
    for plugin in entry_points(group="headgate.sinks"):
        plugin.load()
