"""Checks an analysed plan: refuses a query with an operator, expression or method that `allowed.toml` does not list.

Function names are not enough: Spark finds a function in quotes, with its schema, or under a name that a session gave
it. So the check looks at what Spark made of the query. `walk.java` writes the analysed plan as JSON with one call; then
each operator and expression must be of a listed class, and each method that an expression calls must be listed too.
Example: `reflect('java.lang.System', 'nanoTime')` is an expression of the class CallMethodViaReflection, under whatever
name it was called, and is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pyspark.sql import DataFrame

from headgate.model import HeadgateError
from headgate.plan.sql.bounds import room
from headgate.spark.compile.admission.constants import check_constants
from headgate.spark.compile.admission.growth import check_growth
from headgate.spark.compile.admission.lists import listed

_CATALYST = "org.apache.spark.sql.catalyst."
_CALLS = frozenset({"expressions.objects.Invoke", "expressions.objects.StaticInvoke"})
_MODE = "expressions.aggregate.Mode"
_AGGREGATE, _CAST = "expressions.aggregate.", "expressions.Cast"


@dataclass(frozen=True, slots=True)
class Node:
    """An operator or an expression of an analysed plan, with its children."""

    name: str  # the class, without Catalyst's own package
    fields: Mapping[str, str]
    children: list[Node]

    @property
    def called(self) -> str:
        """The method that an Invoke or StaticInvoke calls, after its class, constant object or type of value."""
        target = self.children[0].fields if self.children else {}
        of_object = target["value_class"] if target.get("type") == "object" and "value_class" in target else None
        owner = self.fields.get("owner") or of_object or target.get("type", "")
        return f"{owner.removeprefix(_CATALYST)}.{self.fields['method']}"


def check(frame: DataFrame) -> None:
    """Refuse a query whose analysed plan contains anything that is not on the list."""
    with room():
        plan = plan_of(frame)
        _check(plan, [])
        check_growth(plan)


def plan_of(frame: DataFrame) -> Node:
    """The analysed plan; functions that Spark rewrites are replaced by what they are rewritten to."""
    jvm: Any = frame.sparkSession._jvm
    private: Any = frame
    plan = private._jdf.queryExecution().analyzed()
    replaced = jvm.org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions.apply(plan)
    return _node(json.loads(_walk(jvm).json(replaced)))


@cache
def _walk(jvm: Any) -> Any:
    """`walk.java` in the JVM, compiled with Janino, with which Spark compiles its own generated code.

    Asking node by node would take a call for each. Spark's own `toJSON` writes the branches of a CASE twice, those of
    a CASE within a CASE four times, and so on.
    """
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook((files(__package__) / "walk.java").read_text("utf-8"))
    return compiler.getClassLoader().loadClass("headgate.Walk").newInstance()


def _node(fields: dict[str, Any]) -> Node:
    name, below = fields.pop("class"), fields.pop("below")
    return Node(name.removeprefix(_CATALYST), fields, [_node(child) for child in below])


def _check(node: Node, above: list[Node]) -> None:
    if node.name not in listed("plans") and node.name not in listed("expressions"):
        raise _not_listed(node.name)
    if node.name in _CALLS and node.called not in listed("methods"):
        raise _not_listed(node.called)
    if node.name in listed("sorted_only") and not any(parent.name == "expressions.SortArray" for parent in above[-2:]):
        hint = "sort what it collects: sort_array(collect_list(x))"
        raise HeadgateError("the order of what the query collects depends on the order of rows", hint=hint)
    if node.name == _MODE and node.fields.get("decides") != "true":
        hint = "write mode(x, true), which takes the smallest of those that are equally frequent"
        raise HeadgateError("which of the most frequent values is taken depends on the order of rows", hint=hint)
    if node.name == _CAST and above and above[-1].name.startswith(_AGGREGATE):
        _check_cast(node)
    check_constants(node, above)
    above.append(node)
    for child in node.children:
        _check(child, above)
    above.pop()


def _check_cast(node: Node) -> None:
    """Refuse a text that Spark would cast within an aggregate, where one that is no number fails for all rows."""
    cast, value = node.fields["type"], node.children[0]
    if node.fields["written"] == "false" and value.fields["type"] == "string":
        hint = f"write the cast: CAST(x AS {cast.upper()}), or TRY_CAST for null where the text is none"
        raise HeadgateError(f"an aggregate takes the type {cast} here, found a text", hint=hint)


def _not_listed(name: str) -> HeadgateError:
    plain = name.rpartition("expressions.")[2]
    return HeadgateError(
        f"the query uses Spark's {plain}, which is not known to depend on the row alone",
        hint="use Spark's own functions; docs/sql.md tells which",
    )
