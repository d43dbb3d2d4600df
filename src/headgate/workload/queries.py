"""[[query]] tables to queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from headgate.model import Given, HeadgateError, Kind, Operator, Query, QueryClass, Stream, Table, unknown, walk
from headgate.model.target_checks import check_not_contradicted
from headgate.workload.costs import with_costs
from headgate.workload.draws import drawn, mentioned, numbered, substitute
from headgate.workload.file_locations import FileLocations
from headgate.workload.operators import OperatorHandle, WrittenPlan, plan
from headgate.workload.schema import QuerySection


@dataclass(frozen=True, slots=True)
class Queries:
    """Reads queries one after the other; knows what they may refer to and what they share."""

    locations: FileLocations
    streams: Mapping[str, Stream]
    tables: Mapping[str, Table]
    classes: Mapping[str, QueryClass]
    costs: Mapping[Kind, Given]
    seed: int
    plans: dict[str, WrittenPlan] = field(default_factory=dict)  # by query
    lives: dict[str, tuple[float, float]] = field(default_factory=dict)  # when each starts and ends
    shared: dict[str, tuple[str, Operator]] = field(default_factory=dict)  # name ⇒ the query it came with
    unpriced: dict[Kind, None] = field(default_factory=dict)  # kinds of operators from SQL that have no cost

    def read(self, section: QuerySection, index: int) -> Iterator[Query]:
        """The queries of one table: one, or as many as `count` says."""
        with self.locations.at("query", index):
            _check(section)
        with self.locations.at("query", index, "name"):
            names = numbered(section.name, section.count)
        for number, name in enumerate(names, 1):
            yield self._query(section, index, name, number)
        self._check_used(section, index)

    def _query(self, section: QuerySection, index: int, name: str, number: int) -> Query:
        if name in self.plans:
            with self.locations.at("query", index, "name", name=name):
                raise HeadgateError(f"query '{name}' is given twice", hint="give every query its own name")
        values = self._values(section, index, name, number)
        query_class = self._class(section, index, name, values)
        planned = self._planned(section, index, name, values)
        self.plans[name] = planned
        self.lives[name] = section.start, section.end
        query = Query(
            name=name,
            query_class=query_class,
            plan=planned.root,
            sql=None if section.sql is None else _filled(section.sql, section, values),
            qos=section.graph,
            start=section.start,
            end=section.end,
            sink=section.sink,
            since="start" if section.once else section.since,
            once=section.once,
            lag=section.lag,
            target=section.wanted,
        )
        with self.locations.at("query", index, "qos" if section.target is None else "target", name=name):
            check_not_contradicted(query, self.classes[query_class])
        return query

    def _values(self, section: QuerySection, index: int, name: str, number: int) -> dict[str, str]:
        values = {"number": str(number)} if section.count else {}
        for draw, text in section.draw.items():
            with self.locations.at("query", index, "draw", draw, name=name):
                values[draw] = drawn(draw, text, self.seed, name)
        return values

    def _check_used(self, section: QuerySection, index: int) -> None:
        texts = [*(section.operators or ()), *(section.from_ or ()), section.sql or "", section.query_class or ""]
        used = mentioned(" ".join(texts))
        for draw in section.draw:
            with self.locations.at("query", index, "draw", draw):
                if draw not in used:
                    raise HeadgateError(f"nothing uses the draw '{draw}'", hint=f"write ${draw} where it belongs")

    def _class(self, section: QuerySection, index: int, name: str, values: Mapping[str, str]) -> str:
        with self.locations.at("query", index, "class", name=name):
            if section.query_class is None:
                if len(self.classes) == 1:
                    return next(iter(self.classes))
                names = ", ".join(f"'{class_name}'" for class_name in self.classes)
                raise HeadgateError("class is missing, and there are several", hint=f"write one of {names}")
            wanted = _filled(section.query_class, section, values)
            if wanted not in self.classes:
                raise unknown("class", wanted, self.classes)
            return wanted

    def _planned(self, section: QuerySection, index: int, name: str, values: Mapping[str, str]) -> WrittenPlan:
        if section.sql is not None:
            with self.locations.at("query", index, "sql", name=name):
                return self._from_sql(_filled(section.sql, section, values))
        return self._from_operators(section, index, name, values)

    def _from_sql(self, sql: str) -> WrittenPlan:
        from headgate.plan.sql import plan_sql  # here, since sqlglot takes long to import and many files have no SQL

        root = with_costs(plan_sql(sql, self.streams, self.tables), self.costs)
        operators = dict.fromkeys(node for node in walk(root) if isinstance(node, Operator))
        self.unpriced.update((operator.kind, None) for operator in operators if operator.kind not in self.costs)
        return WrittenPlan(
            root, handles={place: OperatorHandle(place, operator.kind) for place, operator in enumerate(operators)}
        )

    def _from_operators(self, section: QuerySection, index: int, name: str, values: Mapping[str, str]) -> WrittenPlan:
        def at(place: int) -> AbstractContextManager[None]:
            return self.locations.at("query", index, "operators", place, name=name)

        texts = []
        for place, text in enumerate(section.operators or ()):
            with at(place):
                texts.append(substitute(text, values))
        reads = self._reads(section, index, name, values)
        planned = plan(name, texts, reads, self.streams, at)
        self._check_read(planned, reads, index, name)
        for place, operator in enumerate(planned.written):
            with at(place):
                self._share(operator, name)
        return planned

    def _reads(self, section: QuerySection, index: int, name: str, values: Mapping[str, str]) -> list[str]:
        reads = []
        for place, text in enumerate(section.from_ or ()):
            with self.locations.at("query", index, "from", place, name=name):
                stream = substitute(text, values)
                if stream not in self.streams:
                    raise unknown("stream", stream, self.streams)
                reads.append(stream)
        return reads

    def _check_read(self, planned: WrittenPlan, reads: list[str], index: int, name: str) -> None:
        used = {child for operator in planned.written for child in operator.inputs if not isinstance(child, Operator)}
        for place, stream in enumerate(reads):
            if stream not in {source.stream for source in used}:
                with self.locations.at("query", index, "from", place, name=name):
                    hint = f"name it in an operator's from={stream}, or leave it out"
                    raise HeadgateError(f"no operator reads the stream '{stream}'", hint=hint)

    def _share(self, operator: Operator, query: str) -> None:
        """Refuse one name for two different operators."""
        if operator.name is None:
            return
        owner, first = self.shared.setdefault(operator.name, (query, operator))
        if first is operator:
            return
        if any(isinstance(child, Operator) and child.name is None for child in operator.inputs):
            message = f"'{operator.name}' is shared with query '{owner}', but the operator before it is not"
            raise HeadgateError(message, hint="give that one the same name in both queries too")
        if first != operator:
            message = f"'{operator.name}' has other settings or inputs in query '{owner}'"
            raise HeadgateError(message, hint="write shared operators alike, or choose another name")


def _check(section: QuerySection) -> None:
    if (section.operators is None) == (section.sql is None):
        both = "both operators and sql" if section.sql is not None else "neither operators nor sql"
        raise HeadgateError(f"has {both}", hint="write one of them")
    if section.operators is not None and not section.operators:
        raise HeadgateError("operators is empty", hint='write for example operators = ["select, cost=5ms"]')
    if section.sql is not None and section.from_ is not None:
        raise HeadgateError("has both sql and from", hint="leave from out: the SQL says what it reads")
    if section.end <= section.start:
        raise HeadgateError(f"ends at {section.end:g} s, before it starts", hint="let end be after start")


def _filled(text: str, section: QuerySection, values: Mapping[str, str]) -> str:
    """With drawn values, if the query draws any: otherwise SQL may hold a $ of its own."""
    return substitute(text, values) if section.draw else text
