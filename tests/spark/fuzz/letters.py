"""Dead letters: those that must be there by the rules, and those that lie in the directory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.spark.fuzz.case import Tree
from tests.spark.fuzz.model import Model, QueryModel
from tests.spark.fuzz.oracle import Oracle, view
from tests.spark.fuzz.sql import blocks, failing, fails, has_window, windowed

Letter = dict[str, Any]
Offsets = set[tuple[str, int]]


def read(directory: Path) -> list[Letter]:
    """All letters of a directory, with the streams that they are of."""
    found = []
    for path in sorted((directory / "deadletters").glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()[1:]  # the first says where the file begins
        found += [{"stream": path.stem, **json.loads(line)} for line in lines]
    return found


def wrong(letters: list[Letter], model: Model, oracle: Oracle) -> Iterator[tuple[str, str]]:
    """What is wrong with the letters: where, and in words."""
    for name, stream in model.streams.items():
        found = sum(each["stream"] == name and not each.get("query") for each in letters)
        wanted = stream.missing + sum(stream.late)
        if found != wanted:
            yield name, f"{found} letters of rows that are late or were not taken, not {wanted}"
    for name, query in model.queries.items():
        mine = [each for each in letters if each.get("query") == name]
        yield from ((name, text) for text in _of_query(mine, query, oracle))


def _of_query(mine: list[Letter], query: QueryModel, oracle: Oracle) -> Iterator[str]:
    twice = [key for key, count in Counter(map(_key, mine)).items() if count > 1]
    if twice:
        yield f"{len(twice)} letters are there more than once, as {twice[0]}"
    if not query.spans:
        return  # nobody knows: it was stopped in another life
    if not any(fails(span.tree) for span in query.spans):
        if mine:
            yield f"nothing fails in it, and there are letters, as {mine[0].get('reason')}"
    elif _exact(query):
        wanted, found = dead_tuples(query, oracle), {origin for each in mine for origin in _origins(each)}
        if wanted - found:
            yield f"{len(wanted - found)} of {len(wanted)} tuples have no letter, as {min(wanted - found)}"
        if found - wanted:
            yield f"{len(found - wanted)} tuples have letters and do not fail, as {min(found - wanted)}"


def _key(letter: Letter) -> tuple[Any, ...]:
    return (*_origins(letter), letter.get("closes"))


def _origins(letter: Letter) -> list[tuple[str, int]]:
    if letter.get("offsets") is not None:
        return [(stream, offset) for stream, offset in letter["offsets"]]
    return [(letter["stream"], letter["offset"])]


def _exact(query: QueryModel) -> bool:
    """Whether the rules say for each tuple if it fails: it goes alone from a stream to where it fails."""
    certain = all(span.exact and (span.ends is None or not windowed(span.tree)) for span in query.spans)
    return certain and not query.lost and all(_alone(block) for span in query.spans for block in blocks(span.tree))


def _alone(block: Tree) -> bool:
    group = failing(block, "group") or any(each.get("fails") for each in block.get("having", ()))
    return not fails(block) or ("stream" in block["from"] and not group)


def dead_tuples(query: QueryModel, oracle: Oracle) -> Offsets:
    """The tuples that an expression of a query fails on."""
    found: Offsets = set()
    for span in query.spans:
        above = "except" in span.tree
        for block in blocks(span.tree):
            if not fails(block):
                continue
            stream = block["from"]["stream"]
            limits = oracle.limits(span, stream, above or has_window(block))
            text = f"SELECT o__ FROM {view(stream)} {block['from']['as']} WHERE {limits} AND {dead(block)}"
            found |= {(stream, row[0]) for row in oracle.rows(text)}
    return found


def dead(block: Tree) -> str:
    """In SQL whether a block fails on a tuple: its conditions from left to right, then what it computes.

    >>> dead({"select": [{"e": "id"}], "from": {}, "where": [{"e": "v > 1"}, {"e": "7 / k > 1", "fails": "k = 0"}]})
    'CASE WHEN NOT coalesce(v > 1, false) THEN false WHEN k = 0 THEN true ELSE false END'
    """
    steps = []
    items = failing(block, "tuple")
    for number, each in enumerate(block.get("where", ()), start=1):
        steps += [f"WHEN {each['fails']} THEN true"] if each.get("fails") else []
        if items or number < len(block["where"]):  # else nothing is computed after it
            steps.append(f"WHEN NOT coalesce({each['e']}, false) THEN false")
    computed = " OR ".join(f"coalesce({item['fails']}, false)" for item in items) or "false"
    return f"CASE {' '.join(steps)} ELSE {computed} END" if steps else computed
