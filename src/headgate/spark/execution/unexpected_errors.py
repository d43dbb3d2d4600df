"""Unexpected errors: they are logged, since their text alone says little."""

from __future__ import annotations

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from headgate import logs
from headgate.model import HeadgateError
from headgate.spark.jvm.errors import one_line

_EXPECTED = (HeadgateError, OSError, PySparkException, Py4JError)
_log = logs.logger("execution")


def explain(error: Exception, doing: str) -> str:
    """An error in one line; an unexpected one is also logged, with what was being done.

    >>> explain(KeyError("q1"), "run q1"), explain(ValueError("no such day"), "run q1")
    ("KeyError: 'q1'", 'no such day')
    """
    if isinstance(error, _EXPECTED):
        return one_line(error)
    _log.error("unexpected error", doing=doing, error=error)
    return f"KeyError: {error}" if isinstance(error, KeyError) else one_line(error)
