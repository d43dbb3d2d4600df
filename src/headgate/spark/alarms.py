"""Things to do later."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Alarms:
    """Calls functions after some seconds, each in a thread of its own; nothing is called once it is closed."""

    def __init__(self) -> None:
        self._timers: list[threading.Timer] = []
        self._closed = False
        self._lock = threading.Lock()

    def after(self, seconds: float, call: Callable[[], object]) -> None:
        with self._lock:
            if self._closed or seconds > threading.TIMEOUT_MAX:  # that is some centuries: it never rings
                return
            self._timers = [timer for timer in self._timers if timer.is_alive()]
            timer = threading.Timer(seconds, call)
            timer.daemon, timer.name = True, "headgate-alarm"
            timer.start()
            self._timers.append(timer)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            timers, self._timers = self._timers, []
        for timer in timers:
            timer.cancel()
        for timer in timers:
            timer.join()
