"""Commits: what a record of the commit log says, and how it is stored.

The payload of a frame is

    length of the description (4 bytes) | description (JSON) | inline results (Arrow streams, one after another)

For example, run 7 took query `fire` to offset 20 of the stream `sensors`, and it had 3 results of 412 bytes:

    {"number":120,"run":7,"units":["fire"],"positions":{"fire":{"sensors":20}},
     "outputs":{"fire":{"rows":3,"bytes":412,"files":[]}},"queries":{}}

Large results are not inline: `files` are the names of Parquet files in the folder `aside`. Small results of several
queries with the same columns share an Arrow stream, which comes after the others; each query has some rows of it:

    {…,"outputs":{"hot":{"rows":3,"in":0,"at":0},"cold":{"rows":1,"in":0,"at":3}},"shared":[[612,4]],…}

A commit may also change the catalog, which has everything that was declared: streams, tables, classes and settings, by
kind and name. Queries are described in `queries`, with where they stand; an entry of None removes what it names:

    {"number":121,…,"queries":{"fire":{"sql":"SELECT …","class":"critical","sink":"parquet",…}},
     "catalog":{"classes":{"critical":{"priority":60.0,"lag":null}}}}
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.spark.store.atomic_files import sync_file, sync_folder
from headgate.spark.store.log.segments import from_arrow, to_arrow

_LENGTH = struct.Struct("<I")


@dataclass(frozen=True)
class SharedRows:
    """The results of several queries in one Arrow stream."""

    data: bytes = field(repr=False)
    rows: int

    @cached_property
    def table(self) -> pa.Table:
        return from_arrow(self.data)


@dataclass(frozen=True, slots=True)
class Output:
    """The results of a run for one query: the rows themselves, or files in the directory's folder `aside`."""

    rows: int  # their number
    data: bytes = field(default=b"", repr=False)  # an Arrow stream
    files: tuple[str, ...] = ()
    shared: SharedRows | None = None  # instead of `data`: the rows from `first` on of what it shares with others
    first: int = 0

    @classmethod
    def inline(cls, table: pa.Table) -> Output:
        """A small result, which is stored in the commit's record."""
        return cls(table.num_rows, to_arrow(table))

    @classmethod
    def inline_all(cls, tables: Sequence[pa.Table], schemas: Sequence[pa.Schema]) -> list[Output]:
        """Small results of several queries: of each the columns of a schema, further ones are left out.

        Those with one schema are encoded together, which is quicker.

        >>> schema = pa.schema([("v", pa.int64())])
        >>> tables = [pa.table({"v": values, "hidden": values}) for values in ([1, 2], [3])]
        >>> one, two = Output.inline_all(tables, [schema, schema])
        >>> one.shared is two.shared, two.table().to_pylist()
        (True, [{'v': 3}])
        """
        by_schema: dict[int, list[int]] = {}
        for number, schema in enumerate(schemas):
            by_schema.setdefault(id(schema), []).append(number)
        outputs: dict[int, Output] = {}
        for numbers in by_schema.values():
            columns = schemas[numbers[0]].names
            if len(numbers) == 1:
                outputs[numbers[0]] = cls.inline(tables[numbers[0]].select(columns))
                continue
            together = _one_below_the_other([tables[number] for number in numbers], columns)
            shared, first = SharedRows(to_arrow(together), together.num_rows), 0
            for number in numbers:
                outputs[number] = cls(tables[number].num_rows, shared=shared, first=first)
                first += tables[number].num_rows
        return [outputs[number] for number in range(len(tables))]

    @classmethod
    def written(cls, aside: Path, files: tuple[str, ...]) -> Output:
        """A large result in Parquet files; executors wrote them without fsync, so they are forced to disk here."""
        for name in files:
            sync_file(aside / name)
        for folder in {(aside / name).parent for name in files}:
            sync_folder(folder)
            sync_folder(folder.parent)
        return cls(sum(pq.read_metadata(aside / name).num_rows for name in files), files=files)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes; what is in files takes little, but still counts."""
        if self.shared is not None:
            return math.ceil(len(self.shared.data) * self.rows / max(1, self.shared.rows))
        return len(self.data) + 1024 * len(self.files)

    @property
    def is_inline(self) -> bool:
        """Whether the rows are in the commit's record."""
        return bool(self.data) or self.shared is not None

    def table(self) -> pa.Table:
        """The rows of a small result."""
        return from_arrow(self.data) if self.shared is None else self.shared.table.slice(self.first, self.rows)

    def apart(self) -> Output:
        """The same without what it shares with others, so that it does not keep their rows in memory."""
        return self if self.shared is None else Output.inline(self.table())


def _one_below_the_other(tables: Sequence[pa.Table], columns: list[str]) -> pa.Table:
    """Some columns of all tables, which may differ in others."""
    first = tables[0].schema
    if all(table.schema.equals(first) for table in tables):
        return pa.concat_tables(tables).select(columns)
    return pa.concat_tables([table.select(columns) for table in tables])


@dataclass(frozen=True, slots=True)
class Commit:
    """The outcome of one run of some queries, or a change of what is declared.

    `queries` maps a query that was added or changed to whatever should be known of it after a restart (its SQL, class,
    sink, whether it is paused), and a query that was removed to None. `catalog` has changes of everything else that was
    declared, by kind and name. `letters` are the dead letters of tuples on which expressions of the queries failed.
    """

    run: int = 0
    units: tuple[str, ...] = ()  # the scheduling units that ran
    positions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # offsets by query and leaf of its plan
    outputs: Mapping[str, Output] = field(default_factory=dict)  # results by query
    queries: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    letters: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)  # by stream
    catalog: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by kind and name


@dataclass(slots=True)
class CommittedState:
    """The sum of all commits up to `number`."""

    number: int = 0
    run: int = 0
    positions: dict[str, dict[str, int]] = field(default_factory=dict)
    queries: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    catalog: dict[str, dict[str, Any]] = field(default_factory=dict)  # by kind and name

    def apply(self, commit: Commit) -> None:
        """Add the next commit.

        >>> state = CommittedState()
        >>> state.apply(Commit(run=1, positions={"q": {"s": 10}}))
        >>> state.apply(Commit(run=2, positions={"q": {"t": 5}, "p": {"s": 3}}))
        >>> state.apply(Commit(queries={"p": None}))
        >>> state.number, state.run, state.positions
        (3, 2, {'q': {'s': 10, 't': 5}})
        >>> state.apply(Commit(catalog={"classes": {"high": {"priority": 60.0}, "low": {"priority": 1.0}}}))
        >>> state.apply(Commit(catalog={"classes": {"low": None}}))
        >>> state.catalog
        {'classes': {'high': {'priority': 60.0}}}
        """
        self.number += 1
        self.run = max(self.run, commit.run)
        for query, leaves in commit.positions.items():
            self.positions.setdefault(query, {}).update(leaves)
        for query, entry in commit.queries.items():
            if entry is None:
                self.queries.pop(query, None)
                self.positions.pop(query, None)
            else:
                self.queries[query] = entry
        for kind, entries in commit.catalog.items():
            for name, entry in entries.items():
                if entry is None:
                    self.catalog.get(kind, {}).pop(name, None)
                else:
                    self.catalog.setdefault(kind, {})[name] = entry


def encode(commit: Commit, number: int) -> bytes:
    """A commit as the payload of a frame."""
    shared = {id(output.shared): output.shared for output in commit.outputs.values() if output.shared is not None}
    places = {key: place for place, key in enumerate(shared)}
    outputs: dict[str, Mapping[str, Any]] = {
        query: {"rows": output.rows, "bytes": len(output.data), "files": output.files}
        if output.shared is None
        else {"rows": output.rows, "in": places[id(output.shared)], "at": output.first}
        for query, output in commit.outputs.items()
    }
    description = {
        "number": number,
        "run": commit.run,
        "units": commit.units,
        "positions": commit.positions,
        "outputs": outputs,
        "queries": commit.queries,
    }
    if commit.letters:
        description["letters"] = commit.letters
    if commit.catalog:
        description["catalog"] = commit.catalog
    if shared:
        description["shared"] = [[len(rows.data), rows.rows] for rows in shared.values()]
    own = (output.data for output in commit.outputs.values())
    return b"".join((_with_length(description), *own, *(rows.data for rows in shared.values())))


def decode(payload: bytes, only: Collection[str] | None = None) -> tuple[int, Commit]:
    """A commit and its number from the payload of a frame; with `only`, without the results of other queries."""
    head = _description(payload)
    description = json.loads(head)
    outputs, position = {}, _LENGTH.size + len(head)
    sharing = {}
    for query, output in description["outputs"].items():
        wanted = only is None or query in only
        if "in" in output:
            sharing.update({query: output} if wanted else {})
            continue
        if wanted:
            data = payload[position : position + output["bytes"]]
            outputs[query] = Output(output["rows"], data, tuple(output["files"]))
        position += output["bytes"]
    if sharing:
        shared = _shared(payload, position, description["shared"])
        outputs |= {
            query: Output(output["rows"], shared=shared[output["in"]], first=output["at"])
            for query, output in sharing.items()
        }
    commit = Commit(
        run=description["run"],
        units=tuple(description["units"]),
        positions=description["positions"],
        outputs=outputs,
        queries=description["queries"],
        letters=description.get("letters", {}),  # version 1 had none
        catalog=description.get("catalog", {}),
    )
    return description["number"], commit


def _shared(payload: bytes, position: int, sizes: Sequence[tuple[int, int]]) -> list[SharedRows]:
    """What queries share, from a position of a payload on (version 3 had none); the sizes are in bytes and rows."""
    ends = accumulate((length for length, _ in sizes), initial=position)
    return [
        SharedRows(payload[first:last], rows) for (first, last), (_, rows) in zip(pairwise(ends), sizes, strict=True)
    ]


def encode_state(state: CommittedState) -> bytes:
    """A state as the payload of a frame."""
    return _with_length({name: getattr(state, name) for name in CommittedState.__slots__})


def decode_state(payload: bytes) -> CommittedState:
    """A state from the payload of a frame."""
    return CommittedState(**json.loads(_description(payload)))


def _with_length(description: Mapping[str, Any]) -> bytes:
    head = json.dumps(description, separators=(",", ":"), ensure_ascii=False).encode()
    return _LENGTH.pack(len(head)) + head


def _description(payload: bytes) -> bytes:
    (length,) = _LENGTH.unpack_from(payload)
    return payload[_LENGTH.size : _LENGTH.size + length]
