"""Memory: what libraries have freed is given back to the system, and Python looks for garbage when there is time.

Tables of Arrow come and go by the thousand, in several threads. What they leave free stays with the process:

* in Arrow's own allocator (mimalloc), in a heap for every thread. Only the thread itself can give its heap back, so
  asking for it during maintenance had little effect: of 54 MiB that it held after five minutes of queries that came
  and went, 3 MiB were in use. So Arrow takes its memory from the C library instead: all of it if this package is
  loaded before pyarrow, which looks at an environment variable then, and most of it otherwise;
* in the C library's arenas, of which every thread has one, too, up to eight for every core. So there are few of them:
  threads of this process mostly wait for each other anyway.

The C library gives back whole pages that are free, in all arenas, when it is told to. That takes a few milliseconds,
so it is told every few seconds, after a delivery of results, when nobody waits. Told only during maintenance, twice a
minute, it had taken 20 to 25 MiB more by then, somewhat more from one time to the next: free space gets scattered.

Python looks through all objects for cycles that nobody uses, after every so many new ones. With a thousand queries
there are half a million objects, and looking took a sixth of a second, twice a second. Nearly everything here is freed
without that. So only new objects are looked through while queries run, a hundred thousand at most at a time, which
takes some hundredths of a second; all of them during maintenance.

Whoever has chosen otherwise for the program, by environment variables or thresholds of the collector, is heeded.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
from functools import cache

import pyarrow as pa

SELDOM = (20_000, 5, 1_000)  # thresholds of Python's garbage collector
_USUAL = 2_000  # the first of them is no higher, whatever the version of Python
_ARENAS = 2
_ARENA_MAX = -8  # of `mallopt`: how many arenas there may be
_EVERY = 5.0  # seconds between two times at which freed memory is given back


def settle_memory() -> None:
    """Choose how this process keeps its memory, before queries run."""
    if gc.isenabled() and gc.get_threshold()[0] <= _USUAL:
        gc.set_threshold(*SELDOM)
    library = _c_library()
    if library is not None:
        if os.environ.get("ARROW_DEFAULT_MEMORY_POOL", "system") == "system":
            pa.set_memory_pool(pa.system_memory_pool())
        if "MALLOC_ARENA_MAX" not in os.environ:
            library.mallopt(_ARENA_MAX, _ARENAS)


def give_back_memory() -> None:
    """Find what nobody uses any more, and give all freed memory back to the system, as far as the libraries can."""
    gc.collect()
    _give_back_freed()


class FreedMemory:
    """Gives freed memory back every few seconds, as long as somebody asks for it; asking more often does nothing."""

    def __init__(self) -> None:
        self._due = time.monotonic() + _EVERY

    def give_back(self) -> None:
        if (now := time.monotonic()) >= self._due:
            self._due = now + _EVERY
            _give_back_freed()


def _give_back_freed() -> None:
    pa.default_memory_pool().release_unused()
    library = _c_library()
    if library is not None:
        library.malloc_trim(0)


@cache
def _c_library() -> ctypes.CDLL | None:
    """The C library, if it can be told what to do: glibc can; others do it by themselves, or not at all."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None
