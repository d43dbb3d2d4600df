"""The errors for a Java process of Spark's that has died; without imports of Spark, as the state machine uses them."""

from __future__ import annotations

from headgate.model import BusyError


class SparkGoneError(BusyError):
    """Spark's Java process has died, which is why the task failed: it can be tried again with a new process."""


class SparkChangedError(SparkGoneError):
    """Spark has been started again meanwhile: what was prepared in the old process must be prepared again."""
