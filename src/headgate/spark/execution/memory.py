"""Memory that libraries have freed is given back to the system.

Tables of Arrow come and go by the thousand, in several threads. What they leave free stays with the process: in Arrow's
pool, and in the C library's arenas, of which every thread has its own. So the process grew by a megabyte or two a
minute while queries came and went, though nothing was kept.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

import pyarrow as pa


def give_back_memory() -> None:
    """Give freed memory back to the system, as far as the libraries can."""
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
