"""Queries as trees, and their text: for the engine, and for one Spark batch.

A tree is plain data, and every list in it may be made shorter:

    block   {"select": [item…], "distinct": bool, "from": source, "where": [condition…], "group": [text…],
             "having": [condition…]}
    others  {"union": [tree…]}, {"except": [tree, tree]}, {"with": {name: tree}, "body": tree}
    item    {"e": expression, "as": name, "fails": predicate, "safe": expression}
    source  {"stream": name, "as": alias}, with "tumble": size or "hop": [slide, size]; {"sub": tree, "as": alias};
            {"cte": name, "as": alias}; {"join": [source, source], "on": [condition…]};
            {"table": name, "as": alias, "how": "JOIN" or "LEFT JOIN", "to": source, "on": [condition…]}

`fails` says in SQL when an expression fails, of a tuple or a pair; in `having`, and in items with "of": "group", of a
group. `safe` is written in its place in the batch where failing cannot be kept out by a filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.spark.fuzz.case import Tree

Leaf = Callable[[str, bool], str]  # a stream, and whether a window is above: the text that stands for its rows


class Text:
    """Writes a tree; `leaf` is None for the engine, else it says what a stream's rows are in the batch."""

    def __init__(self, leaf: Leaf | None = None) -> None:
        self._leaf = leaf
        self._names: dict[str, Tree] = {}

    def query(self, tree: Tree, windowed: bool = False) -> str:
        """The text of a query; `windowed` where a window is above it."""
        if "union" in tree:
            return " UNION ALL ".join(self.query(part, windowed) for part in tree["union"])
        if "except" in tree:
            return " EXCEPT ".join(self.query(part, True) for part in tree["except"])
        if "with" in tree:
            return self._with(tree, windowed)
        return self._block(tree, windowed)

    def _with(self, tree: Tree, windowed: bool) -> str:
        self._names = {**self._names, **tree["with"]}
        body = self.query(tree["body"], windowed)
        if self._leaf is not None:
            return body  # whether a window is above may differ from use to use
        return f"WITH {', '.join(f'{name} AS ({self.query(part)})' for name, part in tree['with'].items())} {body}"

    def _block(self, tree: Tree, windowed: bool) -> str:
        windowed = windowed or has_window(tree)
        items = ", ".join(f"{self._expression(item)} AS {item['as']}" for item in tree["select"])
        text = (
            f"SELECT {'DISTINCT ' if tree.get('distinct') else ''}{items} FROM {self._source(tree['from'], windowed)}"
        )
        where = [self._condition(each) for each in tree.get("where", ())]
        having = [self._condition(each) for each in tree.get("having", ())]
        if self._leaf is not None:
            where += [_never(item["fails"]) for item in failing(tree, "tuple")]
            having += [_never(item["fails"]) for item in failing(tree, "group")]
        text += f" WHERE {' AND '.join(where)}" if where else ""
        text += f" GROUP BY {', '.join(tree['group'])}" if tree.get("group") else ""
        return text + (f" HAVING {' AND '.join(having)}" if having else "")

    def _expression(self, item: Tree) -> str:
        return str(item["e"] if self._leaf is None else item.get("safe") or item["e"])

    def _condition(self, each: Tree) -> str:
        if self._leaf is None or not each.get("fails"):
            return f"{each['e']}"
        return f"CASE WHEN {each['fails']} THEN false ELSE {each['e']} END"

    def _source(self, source: Tree, windowed: bool) -> str:
        if "join" in source:
            left, right = (self._source(each, windowed) for each in source["join"])
            return f"{left} JOIN {right} ON {' AND '.join(map(self._condition, source['on']))}"
        if "table" in source:
            on = " AND ".join(map(self._condition, source["on"]))
            return f"{self._source(source['to'], windowed)} {source['how']} {source['table']} {source['as']} ON {on}"
        if "sub" in source:
            return f"({self.query(source['sub'], windowed)}) {source['as']}"
        if "cte" in source:
            known = self._names[source["cte"]]
            name = source["cte"] if self._leaf is None else f"({self.query(known, windowed)})"
            return f"{name} {source['as']}"
        return f"{self._stream(source, windowed)} {source['as']}"

    def _stream(self, source: Tree, windowed: bool) -> str:
        name = source["stream"]
        rows = name if self._leaf is None else self._leaf(name, windowed)
        if "tumble" in source:
            size = source["tumble"]
            return f"TUMBLE({rows}, ts, INTERVAL {size} SECONDS)" if self._leaf is None else _windows(rows, size, size)
        if "hop" in source:
            slide, size = source["hop"]
            if self._leaf is None:
                return f"HOP({rows}, ts, INTERVAL {slide} SECONDS, INTERVAL {size} SECONDS)"
            return _windows(rows, size, slide)
        return rows


def engine_sql(tree: Tree) -> str:
    """The SQL that is submitted.

    >>> item = {"e": "id", "as": "c0"}
    >>> engine_sql({"select": [item], "from": {"stream": "a", "tumble": 4, "as": "x"}, "where": [{"e": "v > 1"}]})
    'SELECT id AS c0 FROM TUMBLE(a, ts, INTERVAL 4 SECONDS) x WHERE v > 1'
    """
    return Text().query(tree)


def batch_sql(tree: Tree, leaf: Leaf) -> str:
    """The same over rows, without what expressions fail on."""
    return Text(leaf).query(tree)


def has_window(tree: Tree) -> bool:
    """Whether a block is an aggregate or joins streams: what is below passes over late rows."""
    return bool(tree.get("group") or tree.get("distinct") or _joins(tree["from"]))


def _joins(source: Tree) -> bool:
    return "join" in source or ("table" in source and _joins(source["to"]))


def blocks(tree: Tree) -> Iterator[Tree]:
    """All blocks of a query."""
    for key in ("union", "except"):
        for part in tree.get(key, ()):
            yield from blocks(part)
    if "with" in tree:
        for part in (*tree["with"].values(), tree["body"]):
            yield from blocks(part)
    if "select" in tree:
        yield tree
        for source in sources(tree["from"]):
            if "sub" in source:
                yield from blocks(source["sub"])


def sources(source: Tree) -> Iterator[Tree]:
    """A source and those that it is made of."""
    yield source
    for part in (*source.get("join", ()), *([source["to"]] if "to" in source else ())):
        yield from sources(part)


def streams_of(tree: Tree) -> set[str]:
    return {each["stream"] for block in blocks(tree) for each in sources(block["from"]) if "stream" in each}


def windowed(tree: Tree) -> bool:
    """Whether results may come later than the tuples that they are made of."""
    return "except" in tree or any(map(has_window, blocks(tree)))


def failing(tree: Tree, of: str) -> list[Tree]:
    """The items of a block that may fail on a tuple (or a pair), or on a group."""
    return [item for item in tree["select"] if item.get("fails") and item.get("of", "tuple") == of]


def fails(tree: Tree) -> bool:
    """Whether anything in a query may fail."""
    conditions = [
        each
        for block in blocks(tree)
        for part in (block["select"], block.get("where", ()), block.get("having", ()), *_ons(block["from"]))
        for each in part
    ]
    return any(each.get("fails") for each in conditions)


def _ons(source: Tree) -> list[list[Tree]]:
    return [each["on"] for each in sources(source) if "on" in each]


def _never(predicate: str) -> str:
    return f"NOT coalesce({predicate}, false)"


def _windows(rows: str, size: int, slide: int) -> str:
    inner = f"(SELECT *, window(ts, '{size} seconds', '{slide} seconds') AS w__ FROM {rows})"
    return f"(SELECT * EXCEPT (w__), w__.start AS window_start, w__.end AS window_end FROM {inner})"
