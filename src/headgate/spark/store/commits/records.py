"""What a commit says, and how it is written: the one type of record in the commit log.

A frame's payload is the length of its description (4 bytes), the description (JSON), and the inline results one after
another (Arrow streams).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.spark.store.atomic_files import sync_file, sync_folder
from headgate.spark.store.log.segments import from_arrow, to_arrow

_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Output:
    """What a run produced for one query: the rows themselves, or files in the directory's folder `aside`."""

    rows: int
    data: bytes = field(default=b"", repr=False)
    files: tuple[str, ...] = ()

    @classmethod
    def inline(cls, table: pa.Table) -> Output:
        """A small result, to be stored in the commit record."""
        return cls(table.num_rows, to_arrow(table))

    @classmethod
    def written(cls, aside: Path, files: tuple[str, ...]) -> Output:
        """A large result that lies in Parquet files; they are forced to disk here, as executors do not."""
        for name in files:
            sync_file(aside / name)
        for folder in {(aside / name).parent for name in files}:
            sync_folder(folder)
            sync_folder(folder.parent)
        return cls(sum(pq.read_metadata(aside / name).num_rows for name in files), files=files)

    def table(self) -> pa.Table:
        return from_arrow(self.data)


@dataclass(frozen=True, slots=True)
class Commit:
    """One run: who ran, where each query stands now at each of its leaves, what each produced.

    Records about the queries themselves have the same type: `queries` maps a query to whatever should be known of it
    after a restart (its SQL, class, sink, whether it is paused), or to None when it is removed. `letters` is what
    expressions of the queries failed on, as the dead letters of a stream keep it.
    """

    run: int = 0
    units: tuple[str, ...] = ()
    positions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    outputs: Mapping[str, Output] = field(default_factory=dict)
    queries: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    letters: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)  # by stream


@dataclass(slots=True)
class CommittedState:
    """The sum of all commits up to `number`."""

    number: int = 0
    run: int = 0
    positions: dict[str, dict[str, int]] = field(default_factory=dict)
    queries: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def apply(self, commit: Commit) -> None:
        """Go one commit further.

        >>> state = CommittedState()
        >>> state.apply(Commit(run=1, positions={"q": {"s": 10}}))
        >>> state.apply(Commit(run=2, positions={"q": {"t": 5}, "p": {"s": 3}}))
        >>> state.apply(Commit(queries={"p": None}))
        >>> state.number, state.run, state.positions
        (3, 2, {'q': {'s': 10, 't': 5}})
        """
        self.number += 1
        self.run = max(self.run, commit.run)
        for query, leaves in commit.positions.items():
            self.positions.setdefault(query, {}).update(leaves)
        for query, told in commit.queries.items():
            if told is None:
                self.queries.pop(query, None)
                self.positions.pop(query, None)
            else:
                self.queries[query] = told


def encode(commit: Commit, number: int) -> bytes:
    """A commit as the payload of a frame."""
    outputs = {
        query: {"rows": output.rows, "bytes": len(output.data), "files": output.files}
        for query, output in commit.outputs.items()
    }
    told = {
        "number": number,
        "run": commit.run,
        "units": commit.units,
        "positions": commit.positions,
        "outputs": outputs,
        "queries": commit.queries,
    }
    if commit.letters:
        told["letters"] = commit.letters
    return b"".join((_headed(told), *(output.data for output in commit.outputs.values())))


def decode(payload: bytes, only: Collection[str] | None = None) -> tuple[int, Commit]:
    """A commit and its number from the payload of a frame; with `only`, without the results of other queries."""
    description = _head(payload)
    told = json.loads(description)
    outputs, position = {}, _LENGTH.size + len(description)
    for query, output in told["outputs"].items():
        if only is None or query in only:
            data = payload[position : position + output["bytes"]]
            outputs[query] = Output(output["rows"], data, tuple(output["files"]))
        position += output["bytes"]
    told.setdefault("letters", {})  # version 1 had none
    commit = Commit(told["run"], tuple(told["units"]), told["positions"], outputs, told["queries"], told["letters"])
    return told["number"], commit


def encode_state(state: CommittedState) -> bytes:
    """A state as the payload of a frame."""
    return _headed({name: getattr(state, name) for name in CommittedState.__slots__})


def decode_state(payload: bytes) -> CommittedState:
    """A state from the payload of a frame."""
    return CommittedState(**json.loads(_head(payload)))


def _headed(told: Mapping[str, Any]) -> bytes:
    head = json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()
    return _LENGTH.pack(len(head)) + head


def _head(payload: bytes) -> bytes:
    (length,) = _LENGTH.unpack_from(payload)
    return payload[_LENGTH.size : _LENGTH.size + length]
