"""SQL to a plan: queries, their FROM and SELECT, set operations, and what is used twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from sqlglot import exp

from headgate.model import Column, Expression, Operator, Project, Source, Stream, Table, unknown
from headgate.plan.sql.aggregates import aggregate, aggregates_in, output_name
from headgate.plan.sql.bounds import check_leaves, room
from headgate.plan.sql.joins import Entry, joined
from headgate.plan.sql.lazy import lazy
from headgate.plan.sql.normal import conjuncts, form, name_of, quoted
from headgate.plan.sql.parse import parse, place, refusal
from headgate.plan.sql.refuse import refuse_clauses, refuse_everywhere
from headgate.plan.sql.scope import FromItem, Relation, Scope, flat, of_stream, outer_columns, projected
from headgate.plan.sql.sets import combined, split
from headgate.plan.sql.stars import only_star, without_stars
from headgate.plan.sql.windows import is_table_function, is_window, table_function
from headgate.plan.sql.words import bare

_NO_TABLES: Mapping[str, Table] = MappingProxyType({})


def plan_sql(sql: str, streams: Mapping[str, Stream], tables: Mapping[str, Table] = _NO_TABLES) -> Operator:
    """The plan of a continuous query, in canonical form: equal sub-plans of different queries are equal.

    >>> from headgate.plan.tree import render
    >>> sensors = Stream(name="sensors", schema=(("id", "int"), ("temp", "int"), ("ts", "timestamp")), event_time="ts")
    >>> query = "SELECT s.id, max(temp) AS hot FROM sensors s WHERE 90 < s.temp GROUP BY window(ts, '10 seconds'), id"
    >>> print(render(plan_sql(query, {"sensors": sensors})))
    project id, max_temp AS hot
    └─ aggregate window 10 s by id: MAX(temp) AS max_temp
       └─ select temp > 90
          └─ stream sensors
    """
    with room():
        query = parse(sql)
        refuse_everywhere(query)
        lowercase = {name.lower(): stream for name, stream in streams.items()}
        relation = Planner(lowercase, {name.lower(): table for name, table in tables.items()}, {}).query(query)
        return _rooted(split(lazy(relation.plan)), relation)


@dataclass(frozen=True, slots=True)
class Planner:
    """What names mean at one place of a query: streams, stored tables, and the CTEs in sight."""

    streams: Mapping[str, Stream]
    tables: Mapping[str, Table]
    ctes: Mapping[str, Relation]

    def query(self, node: exp.Expr) -> Relation:
        """A SELECT, a set operation, or either in parentheses."""
        inside = self._with(node.args.get("with_"))
        if isinstance(node, exp.Subquery):
            refuse_clauses(node)
            return inside.query(node.this)
        if isinstance(node, exp.SetOperation):
            return inside._set_operation(node)
        if not isinstance(node, exp.Select):
            raise refusal(node, f"{node.key.upper()} is not a query over streams", "use SELECT … FROM a stream")
        return inside._select(node)

    def _with(self, clause: exp.Expr | None) -> Planner:
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise refusal(clause, "WITH RECURSIVE is not supported over streams", "write the steps out")
        inside = self
        for cte in clause.expressions:
            relation = _renamed(inside.query(cte.this), cte)
            inside = replace(inside, ctes={**inside.ctes, cte.alias.lower(): relation})
        return inside

    def _select(self, node: exp.Select) -> Relation:
        refuse_clauses(node)
        if not node.expressions:
            raise refusal(node, "SELECT lists no columns", "name the columns, or write SELECT *")
        entries, tests = self._from(node)
        grouped = _aggregating(node)
        alone = grouped and len(entries) == 1
        entries = [replace(entry, applies=_applies(entry.item, alone, tests)) for entry in entries]
        scope = Scope(tuple(entry.item for entry in entries))
        for test in aggregates_in(tests):
            raise refusal(test, "WHERE holds an aggregate", "test aggregates with HAVING")
        relation = joined(entries, tests, scope)
        if not grouped and only_star(node):
            return relation
        node = without_stars(node, scope)
        if grouped:
            return projected(*aggregate(node, scope, relation))
        return projected(relation, [(output_name(item), _scalar(item, scope)) for item in node.expressions])

    def _from(self, node: exp.Select) -> tuple[list[Entry], list[exp.Expr]]:
        """The entries of FROM under canonical aliases, and all tests of inner ONs and WHERE, in this order."""
        clause = node.args.get("from_")
        if clause is None:
            raise refusal(node, "this query reads no stream", "add FROM and a stream")
        joins: list[exp.Join] = node.args.get("joins") or []
        check_leaves(len(joins) + 1, place(node))
        where = node.args.get("where")
        for condition in (*(join.args.get("on") for join in joins), where and where.this):
            if condition is not None and isinstance(bare(condition), exp.Null):
                raise refusal(condition, "NULL is no condition", "write one, or FALSE")
        entries = [Entry(self._item(clause.this, [], 0))]
        tests = list[exp.Expr]()
        for position, join in enumerate(joins, start=1):
            item = self._item(join.this, [entry.item for entry in entries], position)
            outer = _is_outer(join, item)
            on = join.args.get("on")
            entries.append(Entry(item, left_on=(on or exp.true()) if outer else None))
            tests = tests if outer else [*tests, *conjuncts(on)]
        return entries, [*tests, *conjuncts(where.this if where else None)]

    def _item(self, node: exp.Expr, before: list[FromItem], position: int) -> FromItem:
        relation = self._relation(node)
        name = (node.alias_or_name or f"subquery {position + 1}").lower()
        if any(item.name == name for item in before):
            raise refusal(node, f"'{name}' is in FROM twice", f"give each an alias: {name} AS a, {name} AS b")
        if isinstance(relation, Table):
            return FromItem(name, _fresh(relation.name, before, self._columns()), node, table=relation)
        if before:
            relation = flat(relation, node)
        return FromItem(name, _fresh(relation.base, before, self._columns()), node, relation=relation)

    def _columns(self) -> set[str]:
        """The columns of all that can be read."""
        streams = {name.lower() for stream in self.streams.values() for name in stream.columns}
        return streams | {name.lower() for table in self.tables.values() for name in table.columns}

    def _relation(self, node: exp.Expr) -> Relation | Table:
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            refuse_clauses(node)
            return _renamed(self.query(node), node)
        if isinstance(node, exp.Subquery) and not node.this.args.get("joins"):
            return self._relation(node.this)
        if not isinstance(node, exp.Table) or node.args.get("joins"):
            raise refusal(node, "parentheses around a join are not supported", "write the joins one after another")
        if isinstance(node.this, exp.Func):
            return _renamed(self._function(node.this), node)
        refuse_clauses(node)
        named = self._named(node)
        return named if isinstance(named, Table) else _renamed(named, node)

    def _function(self, node: exp.Expr) -> Relation:
        inner = node.expressions[0] if node.name.lower() == "table" and node.expressions else node
        if not is_table_function(inner) or not inner.expressions:
            hint = "use TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND) or HOP"
            raise refusal(node, f"the table function {inner.name or inner.key} is not supported", hint)
        source = self._named(inner.expressions[0])
        if isinstance(source, Table):
            hint = "windows cut streams: name a stream"
            raise refusal(inner, f"'{source.name}' is a stored table", hint)
        return table_function(inner, source)

    def _named(self, node: exp.Expr) -> Relation | Table:
        outer = any(node.args.get(part) for part in ("db", "catalog", "table"))  # "x..s" has a catalog alone
        if outer or not isinstance(node, exp.Table | exp.Column):
            hint = "name a declared stream or table: files and catalogs are not read by a query"
            raise refusal(node, f"'{_path(node)}' is not a stream or table name", hint)
        name = node.name.lower()
        if name in self.ctes:
            return self.ctes[name]
        if name in self.streams:
            return of_stream(self.streams[name])
        if name in self.tables:
            return self.tables[name]
        names = [*self.ctes, *self.streams, *self.tables]
        raise unknown("stream or table", node.name, names, where=place(node))

    def _set_operation(self, node: exp.SetOperation) -> Relation:
        refuse_clauses(node)
        left, right = (flat(self.query(side), side) for side in (node.this, node.expression))
        return combined(node, left, right)


def _aggregating(node: exp.Select) -> bool:
    distinct = node.args.get("distinct")
    if distinct and distinct.args.get("on"):
        raise refusal(distinct, "DISTINCT ON is not supported", "use GROUP BY with min_by or max_by")
    asked = distinct or node.args.get("group") or node.args.get("having")
    return bool(asked) or any(True for _ in aggregates_in(node.expressions))


def _applies(item: FromItem, grouped: bool, tests: list[exp.Expr]) -> bool:
    """TUMBLE is left to the aggregate above it, unless there is none or WHERE already tests the window."""
    marks = item.relation.marks if item.relation else {}
    return not grouped or any(part.name.lower() in marks for test in tests for part in outer_columns(test))


def _is_outer(join: exp.Join, item: FromItem) -> bool:
    """Whether it is a LEFT JOIN with a stored table; other outer joins are refused."""
    side, kind, method = (str(join.args.get(key) or "").upper() for key in ("side", "kind", "method"))
    if method or join.args.get("using"):
        written = f"{method} JOIN" if method else "JOIN … USING"
        raise refusal(join, f"{written} is not supported", "write the condition: ON a.k = b.k")
    if kind in ("SEMI", "ANTI") or side in ("RIGHT", "FULL") or (side and item.table is None):
        written = " ".join(filter(None, (side, kind, "JOIN")))
        hint = "use an inner join within a time bound; LEFT JOIN works with stored tables"
        raise refusal(join, f"{written} with '{item.name}' is not supported over streams", hint)
    return side == "LEFT"


def _fresh(name: str, before: list[FromItem], columns: set[str]) -> str:
    """The canonical alias: the name itself, or name_2, name_3, … in a self-join, or where a column has that name.

    A side of a join may be kept as a struct under its alias; `b.id` must not be a field of somebody's column `b`.
    """
    aliases = {item.alias for item in before}.union(*(item.relation.aliases for item in before if item.relation))
    taken = aliases | columns
    alias, count = name, 1
    while alias in taken:
        count += 1
        alias = f"{name}_{count}"
    return alias


def _scalar(item: exp.Expr, scope: Scope) -> Expression:
    for call in item.find_all(exp.Anonymous):
        if is_window(call):
            raise refusal(call, "window() stands outside GROUP BY", "group by it, or read FROM TUMBLE(…)")
    return scope.canonical(item.unalias())


def _renamed(relation: Relation, node: exp.Expr) -> Relation:
    """A relation under the column names of `AS t(a, b)`."""
    alias = node.args.get("alias")
    names = [name_of(field) for field in (alias.args.get("columns") or [])] if isinstance(alias, exp.TableAlias) else []
    if not names:
        return relation
    fields = relation.fields
    if fields is None or len(fields) != len(names) or relation.pending:
        columns = "unknown columns" if fields is None else f"{len(fields)} columns"
        raise refusal(node, f"{len(names)} names for {columns}", "name every column once")
    return projected(relation, [(name, Expression(field.ref)) for name, field in zip(names, fields, strict=True)])


def _rooted(plan: Operator | Source, relation: Relation) -> Operator:
    """A plan has at least one operator, even for SELECT * FROM s."""
    if isinstance(plan, Operator):
        return plan
    names = [field.name for field in relation.fields or ()]
    return Project(inputs=(plan,), columns=tuple(Column(name, quoted(name)) for name in names) or (Column("*", "*"),))


def _path(node: exp.Expr) -> str:
    return ".".join(part.name for part in node.parts) if isinstance(node, exp.Table | exp.Column) else form(node)
