"""Spark's errors in one line."""

from __future__ import annotations

import re
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

_CANCELLED = re.compile(r"cancell?ed", re.IGNORECASE)
_CODE = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_REST = re.compile(r"\s*(SQLSTATE: \w+|Use `try_.*|If necessary set .*|To tolerate .*);?.*$")

# Conditions of a row's values, not of the query or the cluster.
_OF_VALUES = (
    *("DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO", "CAST_", "ARITHMETIC_OVERFLOW", "BINARY_ARITHMETIC_OVERFLOW"),
    *("NUMERIC_VALUE_OUT_OF_RANGE", "INVALID_ARRAY_INDEX", "MAP_KEY_DOES_NOT_EXIST", "CANNOT_PARSE_", "DATETIME_"),
    *("INTERVAL_ARITHMETIC_OVERFLOW", "INTERVAL_DIVIDED_BY_ZERO", "CONVERSION_INVALID_INPUT", "INVALID_FORMAT"),
    *("NULL_MAP_KEY", "DUPLICATED_MAP_KEY", "INVALID_INDEX_OF_ZERO", "INVALID_URL", "COLLATION_", "INVALID_FRACTION"),
    *("INVALID_PARAMETER_VALUE", "MALFORMED_RECORD_IN_PARSING", "INVALID_VARIANT_", "USER_RAISED_EXCEPTION"),
)


def told(error: PySparkException) -> str:
    """The first line of what Spark says, without its codes and its advice about settings."""
    lines = str(error).strip().splitlines()
    return told_line(lines[0] if lines else type(error).__name__)


def told_line(line: str) -> str:
    """One line of Spark's without code, state and advice.

    >>> told_line("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0. SQLSTATE: 22012")
    'division by zero'
    >>> told_line("UNION can only be performed on inputs with the same number of columns.")
    'UNION can only be performed on inputs with the same number of columns'
    """
    plain = _REST.sub("", _CODE.sub("", line)).strip().rstrip(".:")
    return plain if plain[1:2].isupper() else plain[:1].lower() + plain[1:]


def first_line(error: BaseException) -> str:
    r"""What any error of Spark's or Java's says first; of Java's the innermost cause, which is the one that tells.

    >>> first_line(ValueError("no such thing\nat Thing.java:5"))
    'no such thing'
    """
    if isinstance(error, PySparkException):
        return told(error)
    line = str(error).strip().partition("\n")[0]
    if isinstance(error, Py4JJavaError):
        cause: Any = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        line = str(cause.getMessage() or cause.toString()).strip().partition("\n")[0]
    return told_line(line or type(error).__name__)


def of_values(error: PySparkException) -> bool:
    """Whether an expression failed on a row (ANSI), so that the other rows can still be computed."""
    condition, state = error.getCondition() or "", error.getSqlState() or ""
    return condition.startswith(_OF_VALUES) or state.startswith("22")  # the class of data exceptions


SPARK_ERRORS = (PySparkException, Py4JJavaError)  # how a job's failure comes out; of which kind depends on where it was


def may_be_of_values(error: Exception) -> bool:
    """Whether a careful run may do what this one did not: all but a run that was cancelled."""
    return isinstance(error, SPARK_ERRORS) and not _CANCELLED.search(str(error))


def one_line(error: BaseException) -> str:
    """Any error in one line, for people.

    >>> one_line(ValueError("no   such thing")), one_line(KeyError())
    ('no such thing', 'KeyError')
    """
    said = first_line(error) if isinstance(error, Py4JJavaError) else " ".join(str(error).split())
    return said[:500] or type(error).__name__
