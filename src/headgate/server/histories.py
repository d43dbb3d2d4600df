"""The history of the engine, kept for some seconds once it has been read, so that a second question is quick."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from pathlib import Path

from headgate.history.ring import FOLDER, read_history
from headgate.insight.why import Explainer
from headgate.server.workspace.names import Names
from headgate.server.workspace.own_history import own_history

FRESH = 2.0  # seconds that what was read may be old
MOST = 16  # tenants whose histories are kept

Files = tuple[tuple[str, int], ...]  # names and sizes


class Histories:
    """Reads the history when it is asked for; what has not changed is not read again."""

    def __init__(self, fresh: float = FRESH) -> None:
        self._fresh = fresh
        self._lock = threading.Lock()  # one reads at a time, and the others get what it has read
        self._read: tuple[float, Files, Explainer] | None = None
        self._own: OrderedDict[str, tuple[Explainer, Explainer]] = OrderedDict()  # by tenant: of what it was made

    def explainer(self, directory: Path, names: Names) -> Explainer:
        """What explains the history, as a tenant may see it."""
        with self._lock:
            whole = self._whole(directory)
            if not names.tenant:
                return whole
            kept = self._own.pop(names.tenant, None)
            if kept is None or kept[0] is not whole:
                kept = whole, Explainer(own_history(whole.history, names))
            self._own[names.tenant] = kept
            while len(self._own) > MOST:
                self._own.popitem(last=False)
            return kept[1]

    def _whole(self, directory: Path) -> Explainer:
        now, files = time.monotonic(), _files(directory)
        if self._read is not None:
            at, read, explainer = self._read
            if read == files or now < at + self._fresh:
                return explainer
        explainer = Explainer(read_history(directory))
        self._read = now, files, explainer
        return explainer


def _files(directory: Path) -> Files:
    """The files of the history with their sizes; one may go meanwhile."""
    found = []
    for path in sorted((directory / FOLDER).glob("*.jsonl")):
        try:
            found.append((path.name, path.stat().st_size))
        except FileNotFoundError:
            continue
    return tuple(found)
