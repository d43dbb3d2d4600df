"""The errors that say that Spark's Java process has died. Pure: the engine's state machine knows them too."""

from __future__ import annotations

from headgate.model import HeadgateError


class SparkGoneError(HeadgateError):
    """Spark's Java process has died: what failed would not have failed otherwise."""


class SparkChangedError(SparkGoneError):
    """Spark has died and been started again since: what was prepared for the former one must be prepared anew."""
