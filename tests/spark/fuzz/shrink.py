"""Makes a failing case small: leaves out what it fails without, in a bounded number of tries."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.spark.fuzz.case import Case, Tree
from tests.spark.fuzz.sql import engine_sql, streams_of

Fails = Callable[[Case], bool]
LISTS = ("select", "where", "having", "group", "on", "union", "except")  # of a tree: may be shorter


def shrink(case: Case, fails: Fails, tries: int = 60, seconds: float = 240.0) -> Case:
    """The smallest case found that fails too; what was tried and did not is not tried again.

    >>> case = Case(1, 1, [], [], [["drain"], ["sleep", 5], ["drain"], ["status"]])
    >>> shrink(case, lambda smaller: ["sleep", 5] in smaller.steps).steps
    [['sleep', 5]]
    """
    end, tried, better = time.monotonic() + seconds, {case.to_json()}, True
    while better:
        better = False
        for smaller in candidates(case):
            text = smaller.to_json()
            if text in tried:
                continue
            tried.add(text)
            if len(tried) > tries or time.monotonic() > end:
                return case
            if fails(smaller):
                case, better = smaller, True
                break
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Smaller cases, those that leave out most first."""
    if len(case.queries) > 1:
        yield from (replace(case, queries=[query]) for query in case.queries)
    yield from (replace(case, queries=queries) for queries in shorter(case.queries, least=1))
    yield from (replace(case, steps=steps) for steps in shorter(case.steps))
    read = {name for query in case.queries for name in streams_of(query.tree) | streams_of(query.other)}
    if read < {stream.name for stream in case.streams}:
        steps = [step for step in case.steps if step[0] not in ("append", "finish") or step[1] in read]
        yield replace(case, streams=[stream for stream in case.streams if stream.name in read], steps=steps)
    plain = replace(case, small={}, workers=1, fuse="off", policy="fcfs")
    for name in ("small", "workers", "fuse", "policy"):
        yield replace(case, **{name: getattr(plain, name)})
    for number, step in enumerate(case.steps):
        if step[0] == "append":
            for rows in shorter(step[2]):
                yield replace(
                    case, steps=[*case.steps[:number], [*step[:2], rows, *step[3:]], *case.steps[number + 1 :]]
                )
    for number, query in enumerate(case.queries):
        for tree in smaller_trees(query.tree):
            changed = replace(query, tree=tree, other=tree)
            yield replace(case, queries=[*case.queries[:number], changed, *case.queries[number + 1 :]])
        if query.sink != "parquet":
            plain_sink = replace(query, sink="parquet")
            yield replace(case, queries=[*case.queries[:number], plain_sink, *case.queries[number + 1 :]])


def shorter(items: list[Any], least: int = 0) -> Iterator[list[Any]]:
    """A list without a half, a quarter, … and at last without one.

    >>> list(shorter([1, 2, 3], least=1))
    [[2, 3], [1, 3], [1, 2]]
    """
    size = len(items) // 2
    while size:
        for at in range(0, len(items), size):
            rest = items[:at] + items[at + size :]
            if len(rest) >= least:
                yield rest
        size //= 2


def smaller_trees(tree: Tree) -> Iterator[Tree]:
    """Trees with one piece less, or a part in place of the whole."""
    for key in ("union", "except"):
        yield from tree.get(key, ())
    yield from _without(tree)


def _without(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key in LISTS:
                least = 2 if key == "except" else 0 if key in ("where", "having") else 1
                yield from ({**node, key: rest} for rest in _one_less(value) if len(rest) >= least)
            yield from ({**node, key: changed} for changed in _without(value))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from ([*node[:number], changed, *node[number + 1 :]] for changed in _without(value))


def _one_less(items: list[Any]) -> Iterator[list[Any]]:
    for number in range(len(items)):
        yield items[:number] + items[number + 1 :]


def script(case: Case) -> str:
    """A case for people: what is declared and done, line by line."""
    lines = [f"# policy {case.policy}; fuse {case.fuse}; {case.workers} workers; small {case.small or 'nothing'}"]
    lines += [f"stream {one.name} ({one.ddl}) watermark {one.watermark:g} s" for one in case.streams]
    for query in case.queries:
        lines.append(f"query {query.name} [{query.query_class}, {query.sink}] {engine_sql(query.tree)}")
        if any(step[0] == "replace" and step[1] == query.name for step in case.steps):
            lines.append(f"   replaced by {engine_sql(query.other)}")
    for step in case.steps:
        if step[0] == "append":
            lines.append(f"append {step[1]} {step[3] if len(step) > 3 else ''}")
            lines += [f"   {json.dumps(row, ensure_ascii=False)}" for row in step[2]]
        else:
            lines.append(" ".join(map(str, step)))
    return "\n".join(lines)
