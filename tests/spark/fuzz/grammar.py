"""Random queries of every accepted kind, and other queries that may replace them."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from random import Random

from tests.spark.fuzz.case import StreamDef, Tree
from tests.spark.fuzz.expressions import (
    AGGREGATES,
    CONDITIONS,
    FAILING,
    FAILING_AGGREGATES,
    FAILING_CONDITIONS,
    GROUP_FAILS,
    HAVING,
    HAVING_FAILS,
    OVERFLOWING,
    VALUES,
    draw,
    draw_failing,
    over,
)

SIZES = ((4, 4), (6, 2), (5, 3), (2, 2), (10, 5), (8, 8))  # seconds: size and slide
TABLE = "rooms"


@dataclass(frozen=True, slots=True)
class Grammar:
    """Draws queries over some streams; with `failing` expressions may fail."""

    random: Random
    streams: list[StreamDef]
    failing: frozenset[str] = frozenset()  # of "tuple", "pair", "group"

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def stream(self) -> StreamDef:
        return self.random.choice(self.streams)

    # -- parts -------------------------------------------------------------------------------------------------

    def items(self, of: dict[str, StreamDef], most: int = 5, fails: str = "") -> list[Tree]:
        """Selected expressions over the columns of some aliases."""
        found = []
        for number in range(self.random.randint(1, most)):
            alias = self.random.choice(list(of))
            found.append({"e": draw(self.random, VALUES, of[alias], alias), "as": f"c{number}"})
        if fails in self.failing and self.chance(0.4):
            alias = self.random.choice(list(of))
            found.append({**draw_failing(self.random, FAILING, of[alias], alias), "as": "f0"})
        return found

    def where(self, of: dict[str, StreamDef], most: int = 2, fails: str = "") -> list[Tree]:
        """Conditions; before one that may fail they are never null, so that it is plain which are evaluated."""
        found = []
        for _ in range(self.random.randint(0, most)):
            alias = self.random.choice(list(of))
            found.append({"e": f"({draw(self.random, CONDITIONS, of[alias], alias)})"})
        if fails in self.failing and self.chance(0.3):
            alias = self.random.choice(list(of))
            found = [{"e": f"coalesce({each['e']}, false)"} for each in found]
            found.append(draw_failing(self.random, FAILING_CONDITIONS, of[alias], alias))
        return found

    def aggregates(self, stream: StreamDef, alias: str, most: int = 4, fails: str = "tuple") -> list[Tree]:
        count = self.random.randint(1, most)
        found = [{"e": draw(self.random, AGGREGATES, stream, alias), "as": f"a{number}"} for number in range(count)]
        if fails in self.failing and self.chance(0.4):
            found.append({**draw_failing(self.random, FAILING_AGGREGATES, stream, alias), "as": "f1"})
        if "group" in self.failing and self.chance(0.15):
            text = over(OVERFLOWING, alias)
            safe, many = text.replace("sum(", "try_sum(", 1), f"count_if({alias}.v > 2) >= 2"
            found.append({"e": text, "as": "f2", "fails": many, "of": "group", "safe": safe})
        elif "group" in self.failing and self.chance(0.15):
            safe = f"CASE WHEN {GROUP_FAILS.fails} THEN NULL ELSE {GROUP_FAILS.text} END"
            found.append({"e": GROUP_FAILS.text, "as": "f3", "fails": GROUP_FAILS.fails, "of": "group", "safe": safe})
        return found

    def having(self, stream: StreamDef, alias: str) -> list[Tree]:
        if "group" in self.failing and self.chance(0.2):
            return [{"e": HAVING_FAILS.text, "fails": HAVING_FAILS.fails}]
        return [{"e": draw(self.random, HAVING, stream, alias)}] if self.chance(0.3) else []

    def within(self, left: str, right: str) -> str:
        """A bound in time between two aliases."""
        low, high = self.random.choice(((-3, 2), (0, 3), (-5, -1), (0, 0), (1, 4), (-2, 0)))
        if low == high == 0:
            return f"{left} = {right}"
        return f"{right} BETWEEN {left} + INTERVAL {low} SECONDS AND {left} + INTERVAL {high} SECONDS"

    def keys(self, stream: StreamDef, alias: str) -> list[str]:
        possible = ["{id}", "{v}", "{v} % 2", "{s}", "{b}", "{day}", "upper({s})", "{st}", "hour({ts})"]
        return [draw(self.random, possible, stream, alias) for _ in range(self.random.choice((0, 1, 1, 2)))]

    # -- kinds -------------------------------------------------------------------------------------------------

    def plain(self) -> Tree:
        """A filter and a projection, perhaps with the window that a tuple lies in."""
        stream = self.stream()
        source: Tree = {"stream": stream.name, "as": "x"}
        items = self.items({"x": stream}, fails="tuple")
        if self.chance(0.15):
            source["tumble"] = 4
            items.append({"e": "x.window_start", "as": "w"})
        return {"select": items, "from": source, "where": self.where({"x": stream}, fails="tuple")}

    def from_table(self) -> Tree:
        stream = self.stream()
        how = self.random.choice(("JOIN", "LEFT JOIN"))
        on = [{"e": "x.id = r.id"}, *([{"e": "r.floor >= 1"}] if self.chance(0.5) else [])]
        source = {"table": TABLE, "as": "r", "how": how, "to": {"stream": stream.name, "as": "x"}, "on": on}
        items = [*self.items({"x": stream}, 3), {"e": "r.label", "as": "label"}, {"e": "r.floor", "as": "floor"}]
        where = [*self.where({"x": stream}), *([{"e": "r.label IS NULL"}] if self.chance(0.2) else [])]
        return {"select": items, "from": source, "where": where}

    def subquery(self) -> Tree:
        stream = self.stream()
        inner = {
            "select": [{"e": f"y.{name}", "as": name} for name in stream.names],
            "from": {"stream": stream.name, "as": "y"},
            "where": self.where({"y": stream}),
        }
        return {
            "select": self.items({"x": stream}),
            "from": {"sub": inner, "as": "x"},
            "where": self.where({"x": stream}),
        }

    def union(self) -> Tree:
        """Parts of equal columns, over the same stream or others."""
        parts = []
        for _ in range(self.random.randint(2, 3)):
            stream = self.stream()
            items = [{"e": "x.id", "as": "c0"}, {"e": "x.v", "as": "c1"}, {"e": "x.ts", "as": "c2"}]
            if "tuple" in self.failing and self.chance(0.2):
                items[1] = {"e": "x.v + 2147483645", "as": "c1", "fails": "x.v >= 3"}
            parts.append(
                {
                    "select": items,
                    "from": {"stream": stream.name, "as": "x"},
                    "where": self.where({"x": stream}, fails="tuple"),
                }
            )
        return {"union": parts}

    def aggregate(self) -> Tree:
        """Tumbling or sliding, in Spark's words or as a table function."""
        stream, (size, slide) = self.stream(), self.random.choice(SIZES)
        keys = self.keys(stream, "x")
        source: Tree = {"stream": stream.name, "as": "x"}
        if self.chance(0.4):
            source |= {"tumble": size} if size == slide else {"hop": [slide, size]}
            window, began = "x.window_start", "x.window_start"
        else:
            window, began = f"window(x.ts, '{size} seconds', '{slide} seconds')", "window.start"
        items = [{"e": key, "as": f"k{number}"} for number, key in enumerate(keys)]
        return {
            "select": [{"e": began, "as": "w"}, *items, *self.aggregates(stream, "x")],
            "from": source,
            "where": self.where({"x": stream}, fails="tuple"),
            "group": [window, *keys],
            "having": self.having(stream, "x"),
        }

    def distinct(self) -> Tree:
        stream = self.stream()
        items = [{"e": "window(x.ts, '4 seconds')", "as": "w"}, {"e": "x.id", "as": "c0"}, {"e": "x.v % 2", "as": "c1"}]
        return {
            "select": items,
            "distinct": True,
            "from": {"stream": stream.name, "as": "x"},
            "where": self.where({"x": stream}),
        }

    def nested(self) -> Tree:
        """An aggregate of an aggregate."""
        stream = self.stream()
        inner = {
            "select": [{"e": "window.start", "as": "began"}, {"e": "y.id", "as": "id"}, {"e": "count(*)", "as": "n"}],
            "from": {"stream": stream.name, "as": "y"},
            "where": self.where({"y": stream}),
            "group": [
                self.random.choice(("window(y.ts, '2 seconds')", "window(y.ts, '4 seconds', '2 seconds')")),
                "y.id",
            ],
        }
        return {
            "select": [{"e": "window.start", "as": "w"}, {"e": "max(x.n)", "as": "a0"}, {"e": "sum(x.n)", "as": "a1"}],
            "from": {"sub": inner, "as": "x"},
            "where": [],
            "group": [
                self.random.choice(("window(x.began, '6 seconds')", "window(x.began, '6 seconds', '3 seconds')"))
            ],
            "having": [],
        }

    def union_of_aggregates(self) -> Tree:
        parts = []
        for _ in range(2):
            stream = self.stream()
            parts.append(
                {
                    "select": [
                        {"e": "window.start", "as": "w"},
                        {"e": "count(*)", "as": "a0"},
                        {"e": "sum(x.v)", "as": "a1"},
                    ],
                    "from": {"stream": stream.name, "as": "x"},
                    "where": self.where({"x": stream}),
                    "group": [f"window(x.ts, '{self.random.choice((2, 4, 6))} seconds')"],
                    "having": [],
                }
            )
        return {"union": parts}

    def over_union(self) -> Tree:
        """An aggregate over a union."""
        parts = [
            {
                "select": [{"e": "y.ts", "as": "ts"}, {"e": "y.id", "as": "id"}, {"e": "y.v", "as": "v"}],
                "from": {"stream": self.stream().name, "as": "y"},
                "where": [],
            }
            for _ in range(2)
        ]
        return {
            "select": [{"e": "window.end", "as": "w"}, {"e": "count(*)", "as": "a0"}, {"e": "sum(x.v)", "as": "a1"}],
            "from": {"sub": {"union": parts}, "as": "x"},
            "where": [],
            "group": ["window(x.ts, '6 seconds', '3 seconds')"],
            "having": [],
        }

    def except_(self) -> Tree:
        left, right = self.stream(), self.stream()

        def part(stream: StreamDef) -> Tree:
            return {
                "select": [{"e": "x.window_start", "as": "w"}, {"e": "x.id", "as": "c0"}],
                "from": {"stream": stream.name, "as": "x", "tumble": 4},
                "where": self.where({"x": stream}),
            }

        return {"except": [part(left), part(right)]}

    def join(self) -> Tree:
        """Two streams, or a stream and itself, within a bound."""
        return self._over(self._joined())

    def window_join(self) -> Tree:
        left, right = self.stream(), self.stream()
        size = self.random.choice((2, 4, 10))
        pair = [{"stream": each.name, "as": alias, "tumble": size} for each, alias in ((left, "x"), (right, "y"))]
        on = [{"e": "x.window_start = y.window_start"}, *([{"e": "x.id = y.id"}] if self.chance(0.8) else [])]
        return self._over(({"join": pair, "on": on}, {"x": left, "y": right}))

    def three(self) -> Tree:
        source, of = self._joined()
        third = self.stream()
        on = [{"e": "z.id = x.id"}, {"e": self.within(self.random.choice(("x.ts", "y.ts")), "z.ts")}]
        return self._over(({"join": [source, {"stream": third.name, "as": "z"}], "on": on}, {**of, "z": third}))

    def join_and_table(self) -> Tree:
        source, of = self._joined()
        tree = self._over((source, of))
        tree["from"] = {"table": TABLE, "as": "r", "how": "JOIN", "to": source, "on": [{"e": "r.id = x.id"}]}
        tree["select"].append({"e": "r.label", "as": "label"})
        return tree

    def over_join(self) -> Tree:
        """An aggregate over a join."""
        source, of = self._joined()
        size, slide = self.random.choice(SIZES)
        return {
            "select": [
                {"e": "window.start", "as": "w"},
                {"e": "y.v", "as": "k0"},
                *self.aggregates(of["x"], "x", 3, "pair"),
            ],
            "from": source,
            "where": self.where(of, 1),
            "group": [f"window({self.random.choice(('x.ts', 'y.ts'))}, '{size} seconds', '{slide} seconds')", "y.v"],
            "having": [],
        }

    def join_of_aggregates(self) -> Tree:
        def part() -> Tree:
            stream = self.stream()
            return {
                "select": [
                    {"e": "window", "as": "window"},
                    {"e": "count(*)", "as": "n"},
                    {"e": "max(u.v)", "as": "high"},
                ],
                "from": {"stream": stream.name, "as": "u"},
                "where": self.where({"u": stream}, 1),
                "group": ["window(u.ts, '4 seconds')"],
            }

        return {
            "select": [{"e": "x.window.start", "as": "w"}, {"e": "x.n", "as": "c0"}, {"e": "y.high", "as": "c1"}],
            "from": {
                "join": [{"sub": part(), "as": "x"}, {"sub": part(), "as": "y"}],
                "on": [{"e": "x.window = y.window"}],
            },
            "where": [],
        }

    def with_(self) -> Tree:
        """A filter that is used twice: by a union, or joined with itself."""
        stream = self.stream()
        shared = {
            "select": [{"e": f"u.{name}", "as": name} for name in ("id", "v", "ts")],
            "from": {"stream": stream.name, "as": "u"},
            "where": self.where({"u": stream}, 1),
        }
        if self.chance(0.5):
            return {"with": {"h": shared}, "body": {"union": [self._of_shared("x.v > 1"), self._of_shared("x.v <= 1")]}}
        pair = [{"cte": "h", "as": "x"}, {"cte": "h", "as": "y"}]
        return {
            "with": {"h": shared},
            "body": {
                "select": [{"e": "x.v", "as": "c0"}, {"e": "y.v", "as": "c1"}, {"e": "y.ts", "as": "c2"}],
                "from": {"join": pair, "on": [{"e": "x.id = y.id"}, {"e": self.within("x.ts", "y.ts")}]},
                "where": [],
            },
        }

    def _of_shared(self, condition: str) -> Tree:
        items = [{"e": "x.id", "as": "c0"}, {"e": "x.ts", "as": "c1"}]
        return {"select": items, "from": {"cte": "h", "as": "x"}, "where": [{"e": condition}]}

    def _joined(self) -> tuple[Tree, dict[str, StreamDef]]:
        left, right = self.stream(), self.stream()
        on: list[Tree] = [{"e": "x.id = y.id"}, {"e": self.within("x.ts", "y.ts")}]
        if "pair" in self.failing and self.chance(0.3):
            on.append({"e": "100 / (x.v - y.v) <> 3", "fails": "x.v = y.v"})
        elif self.chance(0.2):
            on.append({"e": "x.v <= y.v"})
        source = {"join": [{"stream": left.name, "as": "x"}, {"stream": right.name, "as": "y"}], "on": on}
        return source, {"x": left, "y": right}

    def _over(self, joined: tuple[Tree, dict[str, StreamDef]]) -> Tree:
        source, of = joined
        return {"select": self.items(of, fails="pair"), "from": source, "where": self.where(of, 2)}


KINDS: dict[str, Callable[[Grammar], Tree]] = {
    "filter": Grammar.plain,
    "table join": Grammar.from_table,
    "subquery": Grammar.subquery,
    "union": Grammar.union,
    "aggregate": Grammar.aggregate,
    "distinct": Grammar.distinct,
    "aggregate of an aggregate": Grammar.nested,
    "union of aggregates": Grammar.union_of_aggregates,
    "aggregate over a union": Grammar.over_union,
    "except": Grammar.except_,
    "join": Grammar.join,
    "window join": Grammar.window_join,
    "three-way join": Grammar.three,
    "join and table": Grammar.join_and_table,
    "aggregate over a join": Grammar.over_join,
    "join of aggregates": Grammar.join_of_aggregates,
    "with": Grammar.with_,
}
OFTEN = ("filter", "filter", "aggregate", "aggregate", "join")  # so that there are groups


def replacement(random: Random, tree: Tree) -> Tree:
    """Another query of the same columns: with one more condition, or with one less."""
    made = deepcopy(tree)
    block = made
    while "select" not in block:
        block = block["body"] if "with" in block else random.choice(block.get("union") or block["except"])
    if block.get("where") and random.random() < 0.5:
        block["where"].pop()
    else:
        alias = _alias(block["from"])
        block.setdefault("where", []).append({"e": f"{alias} IS NOT NULL"})
    return made


def _alias(source: Tree) -> str:
    """A column that every source has; of a subquery its first."""
    while "join" in source or "to" in source:
        source = source["join"][0] if "join" in source else source["to"]
    if "sub" in source:
        tree = source["sub"]
        while "union" in tree:
            tree = tree["union"][0]
        return f"{source['as']}.{tree['select'][0]['as']}"
    return f"{source['as']}.id"
