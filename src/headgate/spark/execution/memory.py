"""Memory: what libraries have freed is given back to the system, and Python looks for garbage when there is time.

Tables of Arrow come and go by the thousand, in several threads. What they leave free stays with the process: in Arrow's
pool, and in the C library's arenas, of which every thread has its own. So the process grew by a megabyte or two a
minute while queries came and went, though nothing was kept.

Python looks through all objects for cycles that nobody uses, after every so many new ones. With a thousand queries
there are half a million objects, and looking took a sixth of a second, twice a second. Nearly everything here is freed
without that. So only new objects are looked through while queries run, a hundred thousand at most at a time, which
takes some hundredths of a second; all of them during maintenance.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from functools import cache

import pyarrow as pa

SELDOM = (20_000, 5, 1_000)  # thresholds of Python's garbage collector
_USUAL = 2_000  # the first of them is no higher, whatever the version of Python


def collect_garbage_seldom() -> None:
    """Leave Python's garbage to maintenance, unless the program has settings of its own for it."""
    if gc.isenabled() and gc.get_threshold()[0] <= _USUAL:
        gc.set_threshold(*SELDOM)


def give_back_memory() -> None:
    """Give freed memory back to the system, as far as the libraries can."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    _trim()()


@cache
def _trim() -> Callable[[], object]:
    """The C library's function for that, if it has one; others than glibc do it by themselves, or not at all."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "malloc_trim"):
            return lambda: library.malloc_trim(0)
    return lambda: None
