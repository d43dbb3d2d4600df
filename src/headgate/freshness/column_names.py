"""The names of the columns in a table of elements. Imports nothing heavy: the command line's help needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from headgate.model import unknown

FORMATS = ("parquet", "csv")
OPTIONAL = ("size", "min_freshness", "frequency")


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """What the columns of a table are called; of the last three, those that are there are used."""

    id: str = "id"
    change_rate: str = "change_rate"
    access: str = "access"
    size: str = "size"
    min_freshness: str = "min_freshness"
    frequency: str = "frequency"  # as the mirror refreshes now

    def found_in(self, table_columns: Sequence[str], where: str) -> dict[str, str]:
        """The columns of a table by what they mean; refuses a table without one that is needed or was named.

        >>> ColumnNames(access="hits").found_in(["id", "hits", "change_rate"], "t.csv")
        {'id': 'id', 'change_rate': 'change_rate', 'access': 'hits'}
        """
        by_meaning = {}
        for field in fields(self):
            name = getattr(self, field.name)
            if name in table_columns:
                by_meaning[field.name] = name
            elif field.name not in OPTIONAL or name != field.default:
                raise unknown("column", name, table_columns, where=where)
        return by_meaning
