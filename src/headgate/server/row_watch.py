"""Looks from time to time whether tenants keep more result rows than they may, and pauses their queries then."""

from __future__ import annotations

import threading

from headgate import logs
from headgate.model import HeadgateError
from headgate.server.hosting import EngineHost
from headgate.server.workspace.quotas import Quotas

EVERY = 10.0  # seconds
_logger = logs.logger("server")


class RowWatch:
    """A thread that checks until it is stopped."""

    def __init__(self, host: EngineHost, quotas: Quotas, every: float = EVERY) -> None:
        self._host, self._quotas, self._every = host, quotas, every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headgate-row-watch", daemon=True)

    def __enter__(self) -> RowWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._every):
            try:
                paused = self._quotas.pause_those_over(self._host.session())
            except (HeadgateError, OSError) as error:  # the engine starts or stops, or a file has just gone
                _logger.debug("result rows were not counted", error=error)
                continue
            for name in paused:
                _logger.warning("query paused: its tenant keeps too many result rows", query=name)
