"""What a query's plan may hold once Spark has analysed it: classes on a list, and constants within bounds.

Names tell little: Spark finds a function in quotes, with its schema, or under a name that a session gave it. So what
holds is what Spark made of the query: each operator and each expression of the analysed plan is of a class in
`allowed.toml`, and so is each method that an expression calls. The list was collected from the functions that
`plan/sql/functions.toml` accepts.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pyspark.sql import DataFrame

from headgate.model import HeadgateError
from headgate.plan.sql.bounds import room
from headgate.spark.compile.admission.constants import check_constants

_CATALYST = "org.apache.spark.sql.catalyst."
_CALLS = frozenset({"expressions.objects.Invoke", "expressions.objects.StaticInvoke"})
_COLLECTS = frozenset({"expressions.aggregate.CollectList", "expressions.aggregate.CollectSet"})
_MODE = "expressions.aggregate.Mode"


@dataclass(frozen=True, slots=True)
class Node:
    """An operator or an expression of an analysed plan, with those below it."""

    name: str  # the class, below Catalyst's own package
    fields: Mapping[str, str]
    children: list[Node]

    @property
    def called(self) -> str:
        """The method that it calls, for what only calls one: of a class, of a constant object, or of a value's type."""
        target = self.children[0].fields if self.children else {}
        of_object = target["value_class"] if target.get("type") == "object" and "value_class" in target else None
        owner = self.fields.get("owner") or of_object or target.get("type", "")
        return f"{owner.removeprefix(_CATALYST)}.{self.fields['method']}"


def check(frame: DataFrame) -> None:
    """Refuse a query whose analysed plan holds anything that is not on the list."""
    with room():
        _check(plan_of(frame), [])


def plan_of(frame: DataFrame) -> Node:
    """The analysed plan, functions that Spark only rewrites replaced by what they stand for."""
    jvm: Any = frame.sparkSession._jvm
    known: Any = frame
    plan = known._jdf.queryExecution().analyzed()
    replaced = jvm.org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions.apply(plan)
    return _node(json.loads(_walk(jvm).json(replaced)))


@cache
def _walk(jvm: Any) -> Any:
    """`walk.java` in the JVM, compiled by what Spark compiles its own code with.

    Asking node by node would take a call each. Spark's own `toJSON` writes the branches of a CASE twice: those of a
    CASE within a CASE four times, and so on.
    """
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook((files(__package__) / "walk.java").read_text("utf-8"))
    return compiler.getClassLoader().loadClass("headgate.Walk").newInstance()


def _node(found: dict[str, Any]) -> Node:
    return Node(found.pop("class").removeprefix(_CATALYST), found, [_node(one) for one in found.pop("below")])


def _check(node: Node, above: list[Node]) -> None:
    if node.name not in listed("plans") and node.name not in listed("expressions"):
        raise _not_listed(node.name)
    if node.name in _CALLS and node.called not in listed("methods"):
        raise _not_listed(node.called)
    if node.name in _COLLECTS and not any(one.name == "expressions.SortArray" for one in above[-2:]):
        hint = "sort what it collects: sort_array(collect_list(x))"
        raise HeadgateError("the order of what the query collects depends on the order of rows", hint=hint)
    if node.name == _MODE and node.fields.get("decides") != "true":
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


def _not_listed(name: str) -> HeadgateError:
    plain = name.rpartition("expressions.")[2]
    return HeadgateError(
        f"the query uses Spark's {plain}, which is not known to depend on the row alone",
        hint="use Spark's own functions; docs/sql.md tells which",
    )
