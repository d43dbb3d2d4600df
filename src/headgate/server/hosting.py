"""The one engine of a server: opened and closed in threads of their own, so that the server always answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from headgate import logs
from headgate.model import HeadgateError
from headgate.server.etags import Changes
from headgate.server.live.latency_log import EACH, LatencyLog
from headgate.server.live.snapshots import Snapshot, Snapshots
from headgate.server.problems import NotReadyError
from headgate.spark.session import Session
from headgate.spark.status import Status

Tell = Callable[[str], object]  # is told what is being done
Opened = Callable[[Tell], Session]

_logger = logs.logger("server")


class EngineState(StrEnum):
    """What the engine of a server is doing."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"  # Spark has died and is started again; rows are taken meanwhile
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """The state of the engine, what it is busy with, and for how many seconds it has been in that state."""

    state: EngineState
    detail: str = ""
    seconds: float = 0.0


class EngineHost:
    """Opens a session, keeps it, and closes it."""

    def __init__(self, open_session: Opened) -> None:
        self._open_session = open_session
        self._state, self._detail, self._since = EngineState.STARTING, "waits to begin", time.monotonic()
        self._restarting: float | None = None  # since when, if Spark has died
        self._session: Session | None = None
        self._snapshots: Snapshots | None = None
        self._over = threading.Event()  # the session is open, or never will be
        self._closing = threading.Event()
        self.changes = Changes()
        self.latencies = LatencyLog()
        self.error: HeadgateError | None = None  # why it could not be opened
        self.final: Status | None = None  # how it stood when it was closed

    def start(self) -> None:
        """Begin to open the session; returns at once."""
        threading.Thread(target=self._open, name="headgate-opening", daemon=True).start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the session is open, or could not be opened; whether that came before the timeout."""
        return self._over.wait(timeout)

    def _open(self) -> None:
        try:
            session = self._open_session(self._tell)
        except BaseException as error:  # told by `status`, and by whoever runs the server
            self.error = error if isinstance(error, HeadgateError) else _unexpected(error)
            self._change(EngineState.FAILED, str(self.error))
            self._over.set()
            return
        self._snapshots = Snapshots(session)
        self._session = session  # last: whoever sees it may ask for a snapshot
        if self._state is EngineState.STARTING:
            self._change(EngineState.READY)
        self._over.set()
        threading.Thread(target=self._sample, name="headgate-latencies", daemon=True).start()

    def _sample(self) -> None:
        """Note what results take, until the session is closed."""
        while not self._closing.is_set():
            try:
                _, snapshot = self.look()
                if snapshot is not None:
                    self.latencies.add(snapshot)
            except Exception as error:  # a gap in the curves, and not their end
                _logger.error("latencies could not be noted", error=error)
            self._closing.wait(EACH)

    def _tell(self, detail: str) -> None:
        self._detail = detail

    def _change(self, state: EngineState, detail: str = "") -> None:
        self._state, self._detail, self._since = state, detail, time.monotonic()
        _logger.info("engine", state=state.value, detail=detail)

    def status(self) -> EngineStatus:
        """What the engine is doing now."""
        return self.look()[0]

    def look(self, fresh: bool = False) -> tuple[EngineStatus, Snapshot | None]:
        """What the engine is doing now, and the newest snapshot of it if it is open; made anew if that is too old.

        Who wants a `fresh` one waits while it is made.
        """
        state, detail, snapshot = self._state, self._detail, None
        if state is EngineState.READY:
            try:
                snapshot = self.snapshot(fresh)
                detail = snapshot.overview.spark_error
                state = EngineState.RESTARTING if detail else state
            except HeadgateError:  # it is being closed just now
                state, detail = self._state, self._detail
        return EngineStatus(state, detail, time.monotonic() - self._began(state)), snapshot

    def _began(self, state: EngineState) -> float:
        """Since when the engine is in a state. That Spark has died is found by those who look, so they note when."""
        if state is not EngineState.RESTARTING:
            if self._restarting is not None:
                self._restarting, self._since = None, time.monotonic()
            return self._since
        if self._restarting is None:
            self._restarting = time.monotonic()
        return self._restarting

    def snapshot(self, fresh: bool = False) -> Snapshot:
        """The engine at this moment, or a moment ago; it has all that was commanded before."""
        session = self.session()
        session.engine.check_spark()
        assert self._snapshots is not None
        return self._snapshots.current(fresh)

    def changed(self) -> None:
        """Something was commanded: the next snapshot is a new one."""
        if self._snapshots is not None:
            self._snapshots.changed()

    def session(self) -> Session:
        """The session, for whoever has something to ask of it; `NotReadyError` if there is none yet, or no more."""
        session = self._session
        if session is None or self._state is not EngineState.READY:
            detail = f": {self._detail}" if self._detail else ""
            raise NotReadyError(
                f"the engine is {self._state}{detail}", hint="ask again; GET /v1/health/ready tells when it is ready"
            )
        return session

    def close(self, patience: float | None) -> None:
        """Close the session, so that runs under way get so many seconds to end."""
        if self._state in (EngineState.FAILED, EngineState.STOPPED):
            return
        self._closing.set()
        self._change(EngineState.STOPPING, "lets runs end and gives results to their sinks")
        self._over.wait()
        if self._session is not None:
            self.final = self._session.close(patience)
        self._change(EngineState.STOPPED)


def _unexpected(error: BaseException) -> HeadgateError:
    reason = f"{type(error).__name__}: {error}"
    return HeadgateError(f"the engine did not start: {reason}", hint="please report it")
