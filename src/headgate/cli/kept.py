"""Finished simulations of a sweep, each in a file of its own: what is there need not be run again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headgate import __version__
from headgate.model import HeadgateError


def key(*parts: object) -> str:
    """A short name for everything that decides a simulation's result.

    >>> key("hnr", {"load": 0.9}, 1) == key("hnr", {"load": 0.9}, 1) != key("hnr", {"load": 0.9}, 2)
    True
    """
    text = json.dumps([__version__, *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class Kept:
    """The finished simulations in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files = folder / "finished"
        try:
            self._files.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise HeadgateError(f"--out: '{folder}' is not a folder", hint="choose another one") from None
        if not os.access(self._files, os.W_OK):
            raise HeadgateError(f"--out may not write '{folder}'", hint="choose another folder")

    def of(self, keys: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """Those of some keys that are there and whole."""
        found = {}
        for each in keys:
            try:
                found[each] = json.loads(self._file(each).read_text(encoding="utf-8"))
            except (FileNotFoundError, json.JSONDecodeError):
                continue
        return found

    def put(self, key: str, values: Mapping[str, Any]) -> None:
        """Keep one; a crash leaves it whole or not at all."""
        beside = self._file(key).with_suffix(".part")
        beside.write_text(json.dumps(values), encoding="utf-8")
        beside.replace(self._file(key))

    def _file(self, key: str) -> Path:
        return self._files / f"{key}.json"
