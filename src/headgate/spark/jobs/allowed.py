"""What a query's plan may hold once Spark has analysed it: classes on a list, and constants within bounds.

Names tell little: Spark finds a function in quotes, with its schema, or under a name that a session gave it. So what
holds is what Spark made of the query: each operator and each expression of the analysed plan is of a class in
`allowed.toml`, and so is each method that an expression calls. The list was collected from the functions that
`plan/sql/functions.toml` accepts.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from pyspark.sql import DataFrame

from headgate.model import HeadgateError
from headgate.spark.jobs.constants import check_constants

_CATALYST = "org.apache.spark.sql.catalyst."
_CALLS = frozenset({"expressions.objects.Invoke", "expressions.objects.StaticInvoke"})
_COLLECTS = frozenset({"expressions.aggregate.CollectList", "expressions.aggregate.CollectSet"})
_MODE = "expressions.aggregate.Mode"


@dataclass(frozen=True, slots=True)
class Node:
    """An operator or an expression of an analysed plan."""

    name: str  # the class, below Catalyst's own package
    fields: Mapping[str, Any]
    children: list[Node] = field(default_factory=list)

    @property
    def called(self) -> str:
        """The method that it calls, for what only calls one."""
        owner = self.fields.get("staticObject") or _owner(self.children[0])
        return f"{owner.removeprefix(_CATALYST)}.{self.fields['functionName']}"


def check(frame: DataFrame) -> None:
    """Refuse a query whose analysed plan holds anything that is not on the list."""
    for tree in plan_of(frame):
        _check(tree, [])


def plan_of(frame: DataFrame) -> Iterator[Node]:
    """The trees of an analysed plan, functions that Spark only rewrites replaced: operators, and their expressions."""
    jvm: Any = frame.sparkSession._jvm
    known: Any = frame
    plan = known._jdf.queryExecution().analyzed()
    replaced = jvm.org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions.apply(plan)
    return trees(json.loads(replaced.toJSON()))


def trees(value: Any) -> Iterator[Node]:
    """The trees in a plan's JSON: lists of nodes in order, parents first, with the number of each one's children."""
    if isinstance(value, list) and value and isinstance(value[0], dict) and "num-children" in value[0]:
        yield _tree(iter(value))
        for node in value:
            yield from trees(list(node.values()))
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from trees(each)


def _tree(nodes: Iterator[dict[str, Any]]) -> Node:
    found = next(nodes)
    children = [_tree(nodes) for _ in range(found["num-children"])]
    return Node(found["class"].removeprefix(_CATALYST), found, children)


def _check(node: Node, above: list[Node]) -> None:
    if node.name not in listed("plans") and node.name not in listed("expressions"):
        raise _not_listed(node.name)
    if node.name in _CALLS and node.called not in listed("methods"):
        raise _not_listed(node.called)
    if node.name in _COLLECTS and not any(one.name == "expressions.SortArray" for one in above[-2:]):
        hint = "sort what it collects: sort_array(collect_list(x))"
        raise HeadgateError("the order of what the query collects depends on the order of rows", hint=hint)
    if node.name == _MODE and node.fields.get("reverseOpt") is None:
        hint = "write mode(x, true), which takes the smallest of those that are equally frequent"
        raise HeadgateError("which of the most frequent values is taken depends on the order of rows", hint=hint)
    check_constants(node, above)
    above.append(node)
    for child in node.children:
        _check(child, above)
    above.pop()


@cache
def listed(kind: str) -> frozenset[str]:
    """One of the lists: `plans`, `expressions` or `methods`."""
    found = tomllib.loads((files(__package__) / "allowed.toml").read_text("utf-8"))
    return frozenset(found[kind].split())


def _owner(target: Node) -> str:
    """The class of an object that Spark put into the plan as a constant, else the type of the value."""
    kind, value = target.fields.get("dataType"), target.fields.get("value")
    if kind == "object":
        return re.split(r"[(@]", str(value), maxsplit=1)[0]
    return kind if isinstance(kind, str) else "value"


def _not_listed(name: str) -> HeadgateError:
    plain = name.rpartition("expressions.")[2]
    return HeadgateError(
        f"the query uses Spark's {plain}, which is not known to depend on the row alone",
        hint="use Spark's own functions; docs/sql.md tells which",
    )
