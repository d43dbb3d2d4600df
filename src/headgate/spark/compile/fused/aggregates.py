"""The fused form of aggregates with equal window and keys; predicates, functions and outputs are each member's own.

A row that several members want is copied for each of them, with the member's number in `_member`; then one grouping by
window, keys and member serves them all. It computes the functions of all members, equal ones once, and each member
takes its own. Example: count(*) where v > 1 for member 0 and sum(v) for member 1; the rows v = 0, 5 become

    _member  v        and the grouping gives     _member  _a0 = count(*)  _a1 = sum(v)
    0        5                                   0        1               5
    1        0                                   1        2               5
    1        5
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from headgate.model import Aggregate
from headgate.plan.fusion_template import Template
from headgate.plan.sql.rewriting import with_columns
from headgate.spark.compile.event_time_columns import END, START, quoted
from headgate.spark.compile.failure_sites import Sites
from headgate.spark.compile.frames import Catalog, survey_of
from headgate.spark.compile.fused.input_rows import micros_of, ship_rows
from headgate.spark.compile.fused.isolating_aggregates import IsolatingAggregates
from headgate.spark.compile.fused.membership import hand_out, pairs_by_number
from headgate.spark.compile.fused.registry import Member, MemberResult, register
from headgate.spark.compile.fused.tags import MEMBER, WORD, select_outputs, span_bits, with_takers
from headgate.spark.compile.leaf_rows import Leaves, Logs, Range, ReadableLog, check_kept, read_kept
from headgate.spark.compile.prepared_query import PreparedQuery
from headgate.spark.compile.quick_frames import SqlColumn, collect, group_by, select
from headgate.spark.compile.read_sets import Reading
from headgate.spark.compile.schemas import ARRIVAL, CLOSES, OFFSET
from headgate.spark.compile.sql_text import window_call
from headgate.spark.compile.time_spans import NEVER, Span


@dataclass(frozen=True, slots=True)
class MemberReads:
    """What a member reads in a run, and the ends of the windows that close for it."""

    offsets: Range
    times: Span
    ends: Span


NOTHING = MemberReads(Range(0, 0), Span(0, -1), NEVER)  # no window closes
FOR = "_for"  # the number of the member that a window is for, -1 if that one does not want it


@register(Aggregate)
@dataclass(frozen=True, slots=True)
class FusedAggregates:
    """Rows copied for each member, one grouping by window, keys and member, then each member's outputs.

    A job serves up to 60 members, the bits of a long that say who takes a row. Groups may be larger: nearly always they
    are served by panes, and where they are not, every 60 members have a job.
    """

    catalog: Catalog
    members: tuple[Member, ...]
    core: Aggregate
    stream: str
    columns: tuple[str, ...]
    time: str
    prepared_queries: tuple[PreparedQuery, ...]
    schemas: tuple[pa.Schema, ...]
    predicates: tuple[tuple[str, ...], ...]
    functions: tuple[SqlColumn, ...]  # all members' aggregates, equal ones once
    above: str  # which member wants a window, by the members' predicates on windows
    select: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]  # each member's columns of the selection
    tests: tuple[tuple[str, ...], ...]  # each member's predicates on windows
    outputs: tuple[tuple[str, ...], ...]  # what each member computes of a window
    plain: tuple[str, ...]  # columns of a window as they are
    own_functions: tuple[tuple[str, ...], ...]  # the names of each member's functions
    sites: Sites
    parts: list[FusedAggregates] = field(default_factory=list)  # of a large group, made when first needed

    @classmethod
    def of(cls, catalog: Catalog, members: Sequence[Member]) -> FusedAggregates:
        templates = [member.template for member in members]
        core = templates[0].core
        assert isinstance(core, Aggregate)
        stream = catalog.streams[templates[0].sides[0].source.stream]
        assert stream.event_time is not None
        functions = _function_names(templates)
        renamed = [
            {column.name: functions[column.expression] for column in own.aggregates} for own in _cores(templates)
        ]
        shared = (*START, *END, *(key.name for key in core.keys))
        plain = [quoted((name,)) for name in (*shared, *functions.values())]
        outputs = [
            [
                _quoted_if_plain(_with_names(text, tuple(names.items())), plain)
                for text in _output_texts(template, [*shared, *names])
            ]
            for template, names in zip(templates, renamed, strict=True)
        ]
        tests = [
            [_with_names(text, tuple(names.items())) for text in template.above]
            for template, names in zip(templates, renamed, strict=True)
        ]
        select, names = select_outputs(outputs, plain, lambda members: _is_for(members, len(templates)))
        return cls(
            catalog,
            tuple(members),
            core,
            stream.name,
            stream.columns,
            stream.event_time,
            tuple(member.prepared for member in members),
            tuple(member.prepared.schema for member in members),
            tuple(template.sides[0].predicates for template in templates),
            tuple(SqlColumn(text, name) for text, name in functions.items()),
            wanted_windows(tests),
            tuple(select),
            tuple(map(tuple, names)),
            tuple(map(tuple, tests)),
            tuple(map(tuple, outputs)),
            tuple(plain),
            tuple(tuple(names.values()) for names in renamed),
            Sites(catalog.spark),
        )

    def run(self, leaves: Sequence[Leaves], logs: Logs) -> list[pa.Table]:
        """One job for every 60 members: the windows that close for each of them."""
        if len(self.members) > WORD:
            return [table for part, own in self._in_parts(leaves) for table in part.run(own, logs)]
        reads = self._reads(leaves)
        rows = self._read(logs[self.stream], reads)
        if rows is None or not rows.num_rows:
            return [prepared.hidden_schema.empty_table() for prepared in self.prepared_queries]
        taken, within = self._input(rows, reads, [*self.columns, ARRIVAL])
        table = collect(self._frame(ship_rows(self.catalog.spark, taken, meets=True), within))
        return _closing_windows(self.handed_out(table), reads)

    def run_isolating(self, leaves: Sequence[Leaves], logs: Logs) -> list[MemberResult]:
        """The same, with what failed for each member."""
        if len(self.members) > WORD:
            return [result for part, own in self._in_parts(leaves) for result in part.run_isolating(own, logs)]
        reads = self._reads(leaves)
        rows = self._read(logs[self.stream], reads)
        if rows is None or not rows.num_rows:
            return [MemberResult(prepared.hidden_schema.empty_table(), ()) for prepared in self.prepared_queries]
        taken, within = self._input(rows, reads, [*self.columns, ARRIVAL, OFFSET])
        results = IsolatingAggregates(self).run(ship_rows(self.catalog.spark, taken, meets=True), within)
        tables = _closing_windows([result.rows for result in results], reads)
        return [
            MemberResult(
                table,
                tuple(
                    failure
                    for failure in result.failures
                    if failure.closes is None or own.ends.low <= failure.closes <= own.ends.high
                ),
            )
            for table, result, own in zip(tables, results, reads, strict=True)
        ]

    def write(self, leaves: Sequence[Leaves], logs: Logs, aside: Path) -> None:
        """Large trains run member by member."""

    def _in_parts(self, leaves: Sequence[Leaves]) -> Iterator[tuple[FusedAggregates, Sequence[Leaves]]]:
        """Every 60 members as a group of their own, with their leaves."""
        firsts = range(0, len(self.members), WORD)
        if not self.parts:
            self.parts.extend(FusedAggregates.of(self.catalog, self.members[first : first + WORD]) for first in firsts)
        for part, first in zip(self.parts, firsts, strict=True):
            yield part, leaves[first : first + WORD]

    def _input(self, rows: pa.Table, reads: Sequence[MemberReads], columns: list[str]) -> tuple[pa.Table, str | None]:
        """The rows that members take, and the column that says who takes a row, unless everyone takes all."""
        offsets, times = rows[OFFSET].to_numpy(), micros_of(rows, self.time)
        bits = span_bits(offsets, [(own.offsets.first, own.offsets.last) for own in reads])
        bits &= span_bits(times, [(own.times.low, own.times.high + 1) for own in reads])
        return with_takers(rows.select(columns), bits, len(reads))

    def _frame(self, frame: DataFrame, within: str | None) -> DataFrame:
        """The windows; those whose tags say that no member wants them are among them."""
        core, listed = self.core, self.catalog.columns.listed
        own = [SqlColumn(quoted((name,))) for name in (*self.columns, ARRIVAL)]
        members = SqlColumn(member_copies(self.predicates, within), MEMBER)
        rows = select(frame, listed([*own, members, SqlColumn(window_call(core), "_window")]))
        keys = [SqlColumn(key.expression, key.name) for key in core.keys]
        values = self.catalog.columns.aggregates([SqlColumn(f"max({ARRIVAL})", ARRIVAL), *self.functions])
        rows = group_by(rows, listed([SqlColumn("_window"), *keys, SqlColumn(MEMBER)]), values)
        bounds = [SqlColumn("_window.start", *START), SqlColumn("_window.end", *END)]
        return self.outputs_of(select(rows, listed([SqlColumn("*"), *bounds])))

    def outputs_of(self, windows: DataFrame) -> DataFrame:
        """What members compute of windows; `handed_out` gives each member its own.

        A window is a row with its start and end, keys, functions, `_arrival` and the number of its member.
        """
        listed = self.catalog.columns.listed
        rows = select(windows, listed([SqlColumn("*"), SqlColumn(self.above, FOR)]))
        hidden = [SqlColumn(ARRIVAL), SqlColumn(END[0], CLOSES), SqlColumn(FOR)]
        return select(rows, listed([*map(SqlColumn, self.select), *hidden]))

    def handed_out(self, table: pa.Table) -> list[pa.Table]:
        """Each member's rows of `outputs_of`, as collected."""
        return hand_out(table, pairs_by_number(table[FOR]), self.names, self.schemas)

    def _reads(self, leaves: Sequence[Leaves]) -> list[MemberReads]:
        return [reads_of(prepared, own) for prepared, own in zip(self.prepared_queries, leaves, strict=True)]

    def _read(self, log: ReadableLog, reads: Sequence[MemberReads]) -> pa.Table | None:
        """All rows that some member needs; None: no window closes."""
        reads = [own for own in reads if own is not NOTHING]
        if not reads:
            return None
        begin, last = min(own.offsets.first for own in reads), max(own.offsets.last for own in reads)
        low, high = min(own.times.low for own in reads), max(own.times.high for own in reads)
        rows = read_kept(log, begin, lambda first: log.read_window(first, last, low, high))
        for own in reads:
            check_kept(log, self.stream, own.offsets.first, {self.time: own.times.low})
        return rows


def reads_of(prepared: PreparedQuery, leaves: Leaves) -> MemberReads:
    """What the member would read in a job of its own."""
    readings = survey_of(prepared.catalog, prepared.plan, leaves).readings()
    if not readings:
        return NOTHING
    ends, source = _ends_and_source(readings[0])
    (times,) = source.times.values()
    return MemberReads(source.offsets, times, ends)


def _ends_and_source(reading: Reading) -> tuple[Span, Reading]:
    """The ends of an aggregate's windows, and what is read of its stream."""
    ends = Span()
    while reading.inputs:
        if isinstance(reading.node, Aggregate):
            ends = reading.span
        (reading,) = reading.inputs
    return ends, reading


def _closing_windows(tables: Sequence[pa.Table], reads: Sequence[MemberReads]) -> list[pa.Table]:
    """Only the windows that close for a member: at the edges of what it reads, others are incomplete."""
    closing = []
    for table, own in zip(tables, reads, strict=True):
        ends = table[CLOSES].cast(pa.int64()).to_numpy()
        closing.append(table.filter(pa.array((ends >= own.ends.low) & (ends <= own.ends.high), pa.bool_())))
    return closing


def member_copies(predicates: Sequence[Sequence[str]], within: str | None) -> str:
    """A copy of a row for each member that wants it, as SQL that gives the member's number.

    >>> member_copies([["v > 1"], []], None)
    'explode(array_compact(array(CASE WHEN (v > 1) THEN 0 END, 1)))'
    """

    def choice(number: int, texts: Sequence[str]) -> str:
        own = () if within is None else (f"({within} & {1 << number}L) != 0",)
        tests = (*own, *(f"({text})" for text in texts))
        return f"CASE WHEN {' AND '.join(tests)} THEN {number} END" if tests else str(number)

    return f"explode(array_compact(array({', '.join(choice(n, texts) for n, texts in enumerate(predicates))})))"


def wanted_windows(tests: Sequence[Sequence[str]]) -> str:
    """The number of a window's member if that member's predicates on windows hold, else -1, as SQL.

    >>> wanted_windows([["n > 1"], [], ["n > 1"]])
    'CASE WHEN _member IN (0, 2) AND (n > 1) THEN _member WHEN _member IN (1) THEN _member ELSE -1 END'
    >>> wanted_windows([[], []])
    '_member'
    """
    if not any(tests):
        return MEMBER
    members: dict[tuple[str, ...], list[int]] = {}
    for number, texts in enumerate(tests):
        members.setdefault(tuple(texts), []).append(number)
    cases = (
        " AND ".join((_one_of(MEMBER, numbers), *(f"({text})" for text in texts))) for texts, numbers in members.items()
    )
    return f"CASE {' '.join(f'WHEN {case} THEN {MEMBER}' for case in cases)} ELSE -1 END"


def _is_for(members: Sequence[int], count: int) -> str:
    """Whether a window is for one of some members and wanted, as SQL; `count` is how many members there are."""
    return f"{FOR} >= 0" if len(set(members)) == count else _one_of(FOR, members)


def _one_of(column: str, numbers: Iterable[int]) -> str:
    return f"{column} IN ({', '.join(map(str, dict.fromkeys(numbers)))})"


def _cores(templates: Sequence[Template]) -> list[Aggregate]:
    return [template.core for template in templates if isinstance(template.core, Aggregate)]


def _function_names(templates: Sequence[Template]) -> dict[str, str]:
    """Names `_a0`, `_a1`, … for the aggregates of all members, by expression."""
    names: dict[str, str] = {}
    for core in _cores(templates):
        for column in core.aggregates:
            names.setdefault(column.expression, f"_a{len(names)}")
    return names


def _output_texts(template: Template, everything: Sequence[str]) -> list[str]:
    if template.outputs is None:
        return [quoted((name,)) for name in everything]
    return [column.expression for column in template.outputs]


@lru_cache(4096)
def _with_names(text: str, names: tuple[tuple[str, str], ...]) -> str:
    """An expression with some of its columns renamed; the members of a large group have few different ones.

    >>> _with_names("count > 1 AND id = 2", (("count", "_a0"),))
    '_a0 > 1 AND id = 2'
    """
    renamed = with_columns(text, dict(names))
    assert renamed is not None, "no lambda has a parameter that is named as ours are"
    return renamed


def _quoted_if_plain(text: str, plain: Sequence[str]) -> str:
    return f"`{text}`" if f"`{text}`" in plain else text
