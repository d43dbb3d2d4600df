"""Expressions of every type over the columns that data.py knows; `{v}` stands for the column v of some stream."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from tests.spark.fuzz.case import StreamDef, Tree

_COLUMN = re.compile(r"\{(\w+)\}")

VALUES = """
{id}; {v}; {ts}; {t}; {m}; {d}; {p}; {s}; {b}; {day}; {seen}; {local}; {raw}; {arr}; {st}; {mp}
{id} + 1; {v} * 2 - {id}; -{v}; abs({v}); coalesce({v}, -1); pmod({v}, 3); {v} % 2; {v} DIV 2; {t} + {v}; {v} / 4
greatest({v}, 1); least({id}, {v}, 2); nullif({id}, 2); nvl2({v}, 1, 0); bit_count({v}); shiftleft({v}, 2); {v} & 3
try_divide({v}, {id} - 1); try_cast({s} AS int); sign({v}); hash({v}, {s}); xxhash64({id}, {ts}); CAST({b} AS int)
CASE WHEN {v} > 2 THEN 'high' WHEN {v} IS NULL THEN 'none' ELSE 'low' END; CASE {id} WHEN 1 THEN 10 WHEN 2 THEN 20 END
if({v} > 0, {id}, -{id}); {d} * 2; floor({d} / 3); ceil({d}); CAST({v} AS double); round({d}, -1); CAST({t} AS bigint)
{p} * 2; {p} + {v}; round({p}, 1); CAST({p} AS string); CAST({v} AS decimal(10, 2)); {p} % 2; -{p}; bround({p}, 1)
upper({s}); concat({s}, '-', {id}); {s} || '!'; substr({s}, 1, 2); coalesce({s}, 'none'); length({s}); reverse({s})
lpad({s}, 4, '*'); regexp_replace({s}, '[a-z]', '_'); split_part({s}, ' ', 1); translate({s}, 'ab', 'xy'); trim({s})
ascii({s}); instr({s}, 'b'); initcap({s}); repeat({s}, 2); soundex({s}); levenshtein({s}, 'ab'); encode({s}, 'UTF-8')
hex({raw}); base64({raw}); md5({raw}); crc32({raw}); octet_length({raw}); CAST({s} AS binary); sha2({s}, 256)
date_trunc('HOUR', {ts}); date_trunc('DAY', {seen}); from_utc_timestamp({ts}, 'Europe/Berlin'); hour({ts}); second({ts})
to_utc_timestamp({ts}, 'America/New_York'); hour(from_utc_timestamp({ts}, 'Europe/Berlin')); unix_micros({ts})
{ts} + INTERVAL 1 HOUR; {ts} - INTERVAL 90 SECONDS; CAST({ts} AS date); CAST({ts} AS string); dayofweek({ts})
date_format(from_utc_timestamp({ts}, 'America/New_York'), 'yyyy-MM-dd HH:mm'); extract(WEEK FROM {ts}); quarter({seen})
date_add({day}, 30); add_months({day}, 1); last_day({day}); datediff({day}, DATE '2000-01-01'); year({day})
CAST({local} AS date); convert_timezone('Europe/Berlin', 'UTC', {local}); CAST({local} AS string); minute({local})
CAST({day} AS timestamp); trunc({day}, 'MM'); weekday({day}); unix_date({day})
size({arr}); array_position({arr}, 1); sort_array({arr}); filter({arr}, e -> e > 0); transform({arr}, e -> e + 1)
array_distinct({arr}); array_contains({arr}, 1); slice({arr}, 1, 2); try_element_at({arr}, 2); array_max({arr})
aggregate({arr}, 0, (a, e) -> a + coalesce(e, 0)); array({v}, 1); array_union({arr}, array(9)); get({arr}, 1)
array_join(transform({arr}, e -> CAST(e AS string)), ','); concat({arr}, array({v})); flatten(array({arr}, array(1)))
{st}.a; {st}.b; named_struct('a', {v}, 'b', {s}); to_json({st}); struct({v} AS one, {id} AS two); {st}.a + {v}
map_keys({mp}); cardinality({mp}); {mp}['k']; map_values({mp}); map_from_arrays(array('k'), array({v})); map('x', {id})
{v} > 1; {b} AND {v} IS NOT NULL; {s} LIKE 'a%'; {id} <=> 2; exists({arr}, e -> e > 2); isnull({s}); NOT {b}
""".replace("\n", ";").split(";")

CONDITIONS = """
{v} > 1; {v} <= 2; {id} = 1; {id} IN (1, 3); {v} IS NOT NULL; {v} IS NULL OR {id} > 1; NOT ({v} = 2); {id} <=> 2
{v} BETWEEN 0 AND 3; {s} LIKE 'a%'; {s} RLIKE '^[a-x]'; {s} <> ''; {b}; NOT {b}; {b} IS NULL; {p} > 0.25; {d} >= 1
{day} > DATE '2000-01-01'; hour({ts}) >= 0; array_contains({arr}, 1); size({arr}) > 0; {st}.a = 1; {mp}['k'] = 1
{st} IS NOT NULL; {t} > 0; {m} < 1; length({raw}) > 1; {seen} < {ts}; {local} IS NOT NULL; {v} % 2 = 0
CASE WHEN {v} > 2 THEN true ELSE {id} = 2 END; coalesce({v}, 1) > 0; {s} IN ('a', 'ab', '7'); {s} NOT LIKE '%b'
{v} <> 0 AND 100 / {v} > 3; {v} = 0 OR 100 / {v} < 60; if({v} = 0, true, 7 % {v} = 1)
""".replace("\n", ";").split(";")

AGGREGATES = """
count(*); count({v}); count({s}); sum({v}); sum({id}); sum({d}); sum({p}); min({v}); max({v}); min({s}); max({ts})
max({p}); min({day}); max({b}); min({local}); max({arr}); max({st}); avg({v}); avg({p}); avg({id}); count(DISTINCT {s})
count(DISTINCT {v}, {id}); count_if({v} > 1); bool_and({b}); bool_or({b}); sum(DISTINCT {v}); bit_xor({v}); max({raw})
count(*) FILTER (WHERE {v} > 0); sum({v}) FILTER (WHERE {id} = 1); sort_array(collect_list({v})); mode({v}, true)
sort_array(collect_set({s})); max(struct({v}, {id})); try_sum({v}); percentile({v}, 0.5); max({v}) - min({v})
sum({v}) / count(*); max(upper({s})); sum(CASE WHEN {v} > 1 THEN 1 ELSE 0 END); max(date_trunc('MINUTE', {ts}))
max(element_at({mp}, 'k')); max({st}.a); sum(size({arr})); min({seen}); count(DISTINCT {p}); sum({t}); sum({m})
bit_or({id}); approx_count_distinct({id}); max_by({v}, {v}); min_by({s}, {s})
""".replace("\n", ";").split(";")

HAVING = """
count(*) > 1; sum({v}) > 2; max({v}) IS NOT NULL; count(DISTINCT {id}) < 3; min({s}) LIKE 'a%'; max({p}) > 0
""".replace("\n", ";").split(";")


@dataclass(frozen=True, slots=True)
class Failing:
    """An expression, and in SQL exactly when it fails."""

    text: str
    fails: str


FAILING = [
    Failing("100 / {v}", "{v} = 0"),
    Failing("{id} DIV {v}", "{v} = 0 AND {id} IS NOT NULL"),
    Failing("{id} % {v}", "{v} = 0 AND {id} IS NOT NULL"),
    Failing("CAST({s} AS int)", "{s} IS NOT NULL AND try_cast({s} AS int) IS NULL"),
    Failing("CAST({s} AS date)", "{s} IS NOT NULL AND try_cast({s} AS date) IS NULL"),
    Failing("CAST({m} AS tinyint)", "{m} NOT BETWEEN -128 AND 127"),
    Failing("CAST({d} AS int)", "{d} > 2147483647"),
    Failing("CAST({p} AS decimal(5, 2))", "abs({p}) >= 1000"),
    Failing("{arr}[2]", "size({arr}) <= 2"),
    Failing("element_at({arr}, 3)", "size({arr}) < 3"),
    Failing("make_date(2021, {v}, 1)", "{v} < 1"),
    Failing("{v} + 2147483645", "{v} >= 3"),
    Failing("to_number({s}, '999')", "{s} IS NOT NULL AND try_to_number({s}, '999') IS NULL"),
    Failing("to_date({s}, 'yyyy-MM-dd')", "{s} IS NOT NULL"),
    Failing("transform({arr}, e -> 10 / e)", "exists({arr}, e -> e = 0)"),
    Failing("CASE WHEN {id} = 1 THEN 10 DIV {v} ELSE {v} END", "{id} = 1 AND {v} = 0"),
]
FAILING_CONDITIONS = [
    Failing("100 / {v} > 30", "{v} = 0"),
    Failing("{id} % {v} = 0", "{v} = 0 AND {id} IS NOT NULL"),
    Failing("CAST({s} AS int) > 5", "{s} IS NOT NULL AND try_cast({s} AS int) IS NULL"),
    Failing("{arr}[1] IS NULL", "size({arr}) <= 1"),
    Failing("CAST({m} AS tinyint) < 1", "{m} NOT BETWEEN -128 AND 127"),
    Failing("make_date(2021, {v}, 1) > DATE '2021-02-01'", "{v} < 1"),
]
FAILING_AGGREGATES = [  # on a tuple
    Failing("sum(100 / {v})", "{v} = 0"),
    Failing("sum({id} DIV {v})", "{v} = 0 AND {id} IS NOT NULL"),
    Failing("max({arr}[2])", "size({arr}) <= 2"),
    Failing("count(CAST({s} AS int))", "{s} IS NOT NULL AND try_cast({s} AS int) IS NULL"),
    Failing("max(make_date(2021, {v}, 1))", "{v} < 1"),
    Failing("min(CAST({d} AS int))", "{d} > 2147483647"),
    Failing("count_if(100 / {v} > 1)", "{v} = 0"),
    Failing("max(element_at({arr}, 1))", "size({arr}) < 1"),
]
OVERFLOWING = "sum(CASE WHEN {v} > 2 THEN 5000000000000000000 ELSE 0 END)"
GROUP_FAILS = Failing("100 / (count(*) - 1)", "count(*) = 1")
HAVING_FAILS = Failing("10 / (count(*) - 2) <> 5", "count(*) = 2")


def over(text: str, alias: str) -> str:
    """An expression over the columns of an alias.

    >>> over("{v} + {st}.a", "x")
    'x.v + x.st.a'
    """
    return _COLUMN.sub(rf"{alias}.\1", text)


def fits(text: str, stream: StreamDef) -> bool:
    return set(_COLUMN.findall(text)) <= set(stream.names)


def draw(random: Random, pool: list[str], stream: StreamDef, alias: str) -> str:
    """An expression of a pool that the stream has the columns for."""
    return over(random.choice([text.strip() for text in pool if text.strip() and fits(text, stream)]), alias)


def draw_failing(random: Random, pool: list[Failing], stream: StreamDef, alias: str) -> Tree:
    """One that may fail, with its predicate."""
    chosen = random.choice([each for each in pool if fits(each.text, stream)])
    return {"e": over(chosen.text, alias), "fails": over(chosen.fails, alias)}
