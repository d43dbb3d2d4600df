"""A plan as a tree of text."""

from __future__ import annotations

from headgate.model import Operator, Source


def render(plan: Operator | Source) -> str:
    """The root on top, inputs below it.

    >>> from headgate.model import Select, Union
    >>> print(render(Union(inputs=(Select(inputs=(Source("s"),), predicate="a > 1"), Source("t")))))
    union
    ├─ select a > 1
    │  └─ stream s
    └─ stream t
    """
    return "\n".join(_lines(plan))


def _lines(node: Operator | Source) -> list[str]:
    if isinstance(node, Source):
        return [f"stream {node}"]
    lines = [" ".join(filter(None, (str(node.kind), node.name or "", node.describe())))]
    for place, child in enumerate(node.inputs, start=1):
        last = place == len(node.inputs)
        head, *rest = _lines(child)
        lines.append(("└─ " if last else "├─ ") + head)
        lines.extend(("   " if last else "│  ") + line for line in rest)
    return lines
