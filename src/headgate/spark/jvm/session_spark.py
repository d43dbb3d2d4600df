"""The Spark of a session: given by the caller, found running in this program, or started and stopped by the session."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from headgate.spark.jvm.process import Java, forget_dead
from headgate.spark.jvm.settings import allow_null_elements, start
from headgate.spark.jvm.spark_logs import quiet_end, spark_log_to

STOPPING = 20.0  # seconds that Spark may take to stop


class SessionSpark:
    """A Spark session and whether it is `owned`: only one that was started here is restarted and stopped here."""

    def __init__(self, given: SparkSession | None, master: str, log: Path) -> None:
        self.owned = given is None and not _is_running()
        self._session = given
        self._master, self._log = master, log
        self._close_log: Callable[[], None] = lambda: None

    def start(self) -> SparkSession:
        """Start Spark, if it is owned; its log goes to a file."""
        if self.owned:
            self._session = start(self._master, self._log)
            self._close_log = spark_log_to(self._session, self._log)
            quiet_end(self._session)
        elif self._session is None:
            self._session = SparkSession.builder.getOrCreate()
        allow_null_elements(self._session)
        return self._session

    def restart(self) -> SparkSession:
        """Start an owned Spark again with the same settings, after its Java process has died."""
        forget_dead()
        return self.start()

    def stop(self) -> None:
        """Stop Spark, if it is owned."""
        if not self.owned or self._session is None:
            return
        java = Java()
        if java.dead:
            forget_dead()
            return
        # Stopping waits for the cluster, which may be lost; a Java process that is ended makes it return.
        limit = threading.Timer(STOPPING, java.kill)
        limit.start()
        try:
            with suppress(Exception):
                self._session.stop()
                self._close_log()
        finally:
            limit.cancel()
        if java.dead:
            forget_dead()


def _is_running() -> bool:
    """Whether this program has a live Spark already: then that is used, and not stopped at the end."""
    context: Any = SparkContext
    if context._gateway is not None and Java().dead:
        forget_dead()
    return context._active_spark_context is not None
