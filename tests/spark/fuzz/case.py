"""A case: streams, queries and steps as plain data, so that it can be printed, kept as JSON and made smaller."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

Tree = dict[str, Any]  # a query or a part of one, see sql.py
Step = list[Any]  # ["append", stream, rows], ["pause", query], …: see commands.py
Row = list[Any]  # values as JSON has them, see data.py


@dataclass(frozen=True, slots=True)
class StreamDef:
    """A stream; its event time is the column `ts`."""

    name: str
    columns: list[list[str]]  # [name, type]
    watermark: float

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]

    @property
    def ddl(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in self.columns)


@dataclass(frozen=True, slots=True)
class QueryDef:
    """A query, and another one of the same columns that may replace it."""

    name: str
    tree: Tree
    other: Tree
    query_class: str = "high"
    sink: str = "parquet"  # or jsonl, memory, callback, failing (a callback that does so now and then)


@dataclass(frozen=True, slots=True)
class Case:
    """What is declared, and what is done with it."""

    seed: int
    number: int
    streams: list[StreamDef]
    queries: list[QueryDef]
    steps: list[Step]
    policy: str = "fcfs"
    fuse: str = "class"
    workers: int = 2
    qos: bool = True
    small: dict[str, int] = field(default_factory=dict)  # settings of the engine, see small.py

    @property
    def rows(self) -> int:
        return sum(len(step[2]) for step in self.steps if step[0] == "append")

    def stream(self, name: str) -> StreamDef:
        return next(each for each in self.streams if each.name == name)

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Case:
        """The case that `to_json` wrote.

        >>> case = Case(1, 2, [StreamDef("a", [["id", "bigint"]], 1.5)], [QueryDef("q", {}, {})], [["drain"]])
        >>> Case.from_json(case.to_json()) == case
        True
        """
        told = json.loads(text)
        streams = [StreamDef(**each) for each in told.pop("streams")]
        return cls(streams=streams, queries=[QueryDef(**each) for each in told.pop("queries")], **told)
