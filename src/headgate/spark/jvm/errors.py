"""Spark's errors as one line for people, and the question whether a row's values caused them."""

from __future__ import annotations

import re
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

_CANCELLED = re.compile(r"cancell?ed", re.IGNORECASE)
_CODE = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_REST = re.compile(r"\s*(SQLSTATE: \w+|Use `try_.*|If necessary set .*|To tolerate .*);?.*$")

# Spark's error conditions that are due to a row's values, and not to the query or the cluster.
_OF_VALUES = (
    *("DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO", "CAST_", "ARITHMETIC_OVERFLOW", "BINARY_ARITHMETIC_OVERFLOW"),
    *("NUMERIC_VALUE_OUT_OF_RANGE", "INVALID_ARRAY_INDEX", "MAP_KEY_DOES_NOT_EXIST", "CANNOT_PARSE_", "DATETIME_"),
    *("INTERVAL_ARITHMETIC_OVERFLOW", "INTERVAL_DIVIDED_BY_ZERO", "CONVERSION_INVALID_INPUT", "INVALID_FORMAT"),
    *("NULL_MAP_KEY", "DUPLICATED_MAP_KEY", "INVALID_INDEX_OF_ZERO", "INVALID_URL", "COLLATION_", "INVALID_FRACTION"),
    *("INVALID_PARAMETER_VALUE", "MALFORMED_RECORD_IN_PARSING", "INVALID_VARIANT_", "USER_RAISED_EXCEPTION"),
)


def spark_message(error: PySparkException) -> str:
    """The first line of an error of Spark's, without its codes and its advice about settings."""
    lines = str(error).strip().splitlines()
    return plain_line(lines[0] if lines else type(error).__name__)


def plain_line(line: str) -> str:
    """One line of Spark's without error code, SQL state and advice.

    >>> plain_line("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0. SQLSTATE: 22012")
    'division by zero'
    >>> plain_line("UNION can only be performed on inputs with the same number of columns.")
    'UNION can only be performed on inputs with the same number of columns'
    """
    plain = _REST.sub("", _CODE.sub("", line)).strip().rstrip(".:")
    return plain if plain[1:2].isupper() else plain[:1].lower() + plain[1:]


def first_line(error: BaseException) -> str:
    r"""The first line of any error; for one of Java's, of its innermost cause, since that names the reason.

    >>> first_line(ValueError("no such thing\nat Thing.java:5"))
    'no such thing'
    """
    if isinstance(error, PySparkException):
        return spark_message(error)
    line = str(error).strip().partition("\n")[0]
    if isinstance(error, Py4JJavaError):
        cause: Any = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        line = str(cause.getMessage() or cause.toString()).strip().partition("\n")[0]
    return plain_line(line or type(error).__name__)


def of_values(error: PySparkException) -> bool:
    """Whether an expression failed on a row's values (ANSI mode), so that the other rows can still be computed."""
    condition, state = error.getCondition() or "", error.getSqlState() or ""
    return condition.startswith(_OF_VALUES) or state.startswith("22")  # the class of data exceptions


SPARK_ERRORS = (PySparkException, Py4JJavaError)  # a job's failure is one of these, depending on where it happened


def may_be_of_values(error: Exception) -> bool:
    """Whether a run with row-level error isolation may succeed where this one failed: unless it was cancelled."""
    return isinstance(error, SPARK_ERRORS) and not _CANCELLED.search(str(error))


def one_line(error: BaseException) -> str:
    """Any error in one line, for people.

    >>> one_line(ValueError("no   such thing")), one_line(KeyError())
    ('no such thing', 'KeyError')
    """
    line = first_line(error) if isinstance(error, Py4JJavaError) else " ".join(str(error).split())
    return line[:500] or type(error).__name__
