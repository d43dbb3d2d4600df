"""Hashes of code, so that a result is used again only if the code that made it is still the same."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

# What a simulation and the other calculations run; what is above them only asks and shows.
PACKAGES = ("model", "plan", "workload", "stats", "metrics", "freshness", "policies", "core", "sim")
SETTINGS = "sweep/varied_settings.py"


@cache
def simulator() -> str:
    """The code of the simulator and of everything that it uses."""
    root = Path(__file__).parents[1]
    return _hash([root / SETTINGS, *(path for package in PACKAGES for path in (root / package).rglob("*.py"))])


def function(called: Callable[..., Any]) -> str:
    """A function of an experiment: its name, and the code of its file and of those beside it."""
    file = sys.modules[called.__module__].__file__
    assert file is not None
    return f"{called.__module__}.{called.__qualname__} {_folder(Path(file).parent)}"


@cache
def _folder(folder: Path) -> str:
    return _hash(folder.glob("*.py"))


def _hash(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(path.name.encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:20]
