"""Types of columns that can be told from their names without Spark, whose parser reads all others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

_PLAIN: Mapping[str, DataType] = MappingProxyType(
    {
        "boolean": BooleanType(),
        "tinyint": ByteType(),
        "byte": ByteType(),
        "smallint": ShortType(),
        "short": ShortType(),
        "int": IntegerType(),
        "integer": IntegerType(),
        "bigint": LongType(),
        "long": LongType(),
        "float": FloatType(),
        "real": FloatType(),
        "double": DoubleType(),
        "decimal": DecimalType(),
        "dec": DecimalType(),
        "numeric": DecimalType(),
        "date": DateType(),
        "timestamp": TimestampType(),
        "timestamp_ltz": TimestampType(),
        "timestamp_ntz": TimestampNTZType(),
        "string": StringType(),
        "binary": BinaryType(),
    }
)
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)\s*\(\s*(\d{1,2})\s*(?:,\s*(\d{1,2})\s*)?\)")
_WORD = re.compile(r"[a-z]\w*")
_LEFT_TO_SPARK = frozenset({"void", "variant", "interval", "time"})


def plain_type(text: str) -> DataType | None:
    """The type of a name; None for those that only Spark can tell.

    >>> plain_type("BIGINT"), plain_type("decimal(10, 2)"), plain_type("array<int>")
    (LongType(), DecimalType(10,2), None)
    """
    name = text.strip().lower()
    if match := _DECIMAL.fullmatch(name):
        precision, scale = int(match[1]), int(match[2] or 0)
        return DecimalType(precision, scale) if scale <= precision and 1 <= precision <= 38 else None
    return _PLAIN.get(name)


def normal_type(text: str) -> str:
    """A type in one way of writing, to compare it with another.

    >>> normal_type("LONG"), normal_type("decimal(10, 2)"), normal_type("ARRAY< int >")
    ('bigint', 'decimal(10,2)', 'array<int>')
    """
    plain = plain_type(text)
    return "".join(text.split()).lower() if plain is None else plain.simpleString()


def is_no_type(text: str) -> bool:
    """Whether a text is certainly no type: a single word that is the name of none.

    >>> is_no_type("bigintt"), is_no_type("bigint"), is_no_type("variant"), is_no_type("array<bigintt>")
    (True, False, False, False)
    """
    name = text.strip().lower()
    return _WORD.fullmatch(name) is not None and name not in _PLAIN and name not in _LEFT_TO_SPARK
