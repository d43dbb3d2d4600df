"""Compiles functions with numba, and keeps what was compiled on disk for the processes that follow."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from headgate.sim.compiled.code_cache import cache_directory

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile as a function of its own; called by others."""
    return cast(F, numba.njit(error_model="numpy")(function))


def inlined(function: F) -> F:
    """Compile into whoever calls it: for the few lines that everything else is made of."""
    return cast(F, numba.njit(error_model="numpy", forceinline=True)(function))


def entry(function: F) -> F:
    """Compile as what Python calls. Its code, with that of all it calls, is kept on disk."""
    dispatcher: Any = numba.njit(error_model="numpy")(function)
    with suppress(RuntimeError):  # there is no directory for it
        dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
    return cast(F, dispatcher)


class _Locator(_CacheLocator):
    """Tells numba where the code of a function is kept. The directory's name says of which state of the sources."""

    def __init__(self, line: int, directory: Path) -> None:
        self._line = line
        self._directory = directory

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator | None:
        directory = cache_directory()
        return None if directory is None else cls(py_func.__code__.co_firstlineno, directory)

    def get_cache_path(self) -> str:
        return str(self._directory)

    def get_source_stamp(self) -> str:
        return self._directory.name

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Kept(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012


class _Cache(FunctionCache):
    _impl_class = _Kept
