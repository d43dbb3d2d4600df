"""Results of finished simulations, one JSON file each, so that the same sweep started again skips them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headgate import __version__
from headgate.model import HeadgateError


def result_key(*parts: object) -> str:
    """A hash of everything that decides a simulation's result, with the version of Headgate.

    >>> result_key("hnr", {"load": 0.9}, 1) == result_key("hnr", {"load": 0.9}, 1)
    True
    >>> result_key("hnr", {"load": 0.9}, 1) == result_key("hnr", {"load": 0.9}, 2)
    False
    """
    text = json.dumps([__version__, *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class FinishedResults:
    """The results of finished simulations in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._results_folder = folder / "finished"
        try:
            self._results_folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise HeadgateError(f"--out: '{folder}' is not a folder", hint="choose another one") from None
        if not os.access(self._results_folder, os.W_OK):
            raise HeadgateError(f"--out may not write '{folder}'", hint="choose another folder")

    def of(self, keys: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """The results of those keys that have one; a file that is cut off counts as missing."""
        results = {}
        for key in keys:
            try:
                results[key] = json.loads(self._file(key).read_text(encoding="utf-8"))
            except (FileNotFoundError, json.JSONDecodeError):
                continue
        return results

    def put(self, key: str, values: Mapping[str, Any]) -> None:
        """Store a result: written beside and renamed, so that a crash leaves the whole file or none."""
        unfinished = self._file(key).with_suffix(".part")
        unfinished.write_text(json.dumps(values), encoding="utf-8")
        unfinished.replace(self._file(key))

    def _file(self, key: str) -> Path:
        return self._results_folder / f"{key}.json"
