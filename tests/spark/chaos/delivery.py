"""Commits, their delivery and recovery as the engine does them, without the engine: a script for `crashes`.

What a commit holds follows from its number, so whoever knows how many count knows all results.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.spark.chaos.scripts import Step
from tests.spark.sinks.delivering import Store
from tests.spark.store.builders import ids
from tests.spark.store.steps import aside

from headgate.spark.sinks.committed_results import read_committed
from headgate.spark.sinks.result_files import read
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.dead_letters import DeadLetters
from headgate.spark.store.directory import DataDirectory

QUERIES = ("q", "lines")
REMOVED, AGAIN = 5, 6  # commits: query `q` ends, and another one of its name has another sink


class Delivery:
    """Groups of commits go to two queries' files and a stream's letters, and the commit log is shortened."""

    def __init__(self, root: Path, seed: int = 0) -> None:
        self.path, self.seed = root / "data", seed
        self.begun, self.acknowledged = 0, 0
        self._runs = count()  # no two write aside under one name
        self._opened = ExitStack()

    @property
    def steps(self) -> Sequence[Step]:
        chance = random.Random(self.seed)
        chosen: list[Step] = []
        for _ in range(4):
            chosen += [partial(self.commit, chance.randint(1, 3)), partial(self.deliver, chance.random()), self.tidy]
        return (*chosen, partial(self.commit, 2), self.deliver, self.tidy)

    def open(self) -> None:
        self._opened.close()  # of a process that is dead by now
        directory = self._opened.enter_context(DataDirectory(self.path))
        self.store = Store(directory)
        self._opened.callback(self.store.commits.close)

    def commit(self, size: int) -> None:
        """Runs that end together."""
        first = self.store.commits.number + 1
        made = [self._made(number) for number in range(first, first + size)]
        self.begun = max(self.begun, first + size - 1)
        self.acknowledged = max(self.acknowledged, *self.store.commit(*made))

    def _made(self, number: int) -> Commit:
        outputs = {query: self._output(query, number) for query in QUERIES if values(query, number)}
        letters = {"s": [letter(number)]} if number % 3 == 0 else {}
        return Commit(number, queries=told(number), outputs=outputs, letters=letters)

    def _output(self, query: str, number: int) -> Output:
        table = pa.table({"id": values(query, number)})
        if random.Random(f"{query} {number}").random() < 0.6:
            return Output.inline(table)
        return aside(self.path / "aside", f"run-{next(self._runs)}", table.slice(0, 1), table.slice(1))

    def deliver(self, part: float = 1.0) -> None:
        self.store.deliver(part)

    def tidy(self) -> None:
        self.store.tidy()

    def check(self) -> None:
        before = {query: self._read(query) for query in QUERIES} if (self.path / "results").is_dir() else {}
        self.open()
        number = self.store.commits.number
        assert self.acknowledged <= number <= self.begun
        self.acknowledged = number  # it has been seen
        assert all(found == expected(query, number) for query, found in before.items()), (number, before)
        self._check()
        self.commit(1)
        assert self.store.deliver() == {}
        self._check()
        self.store.tidy()
        self._check()
        self._opened.close()

    def _check(self) -> None:
        number = self.store.commits.number
        for query in QUERIES:
            asked = expected(query, number)
            assert self._read(query) == asked, query
            folder = self.path / "results" / query
            assert sorted(ids(read(folder)) if asked else []) == asked, f"files of {query}"
        letters = DeadLetters(self.store.directory.letters("s")).letters()
        assert [each.commit for each in letters] == list(range(3, number + 1, 3))

    def _read(self, query: str) -> list[int]:
        table = read_committed(self.path, query)
        return ids(table) if table.num_columns else []


class Undelivered(Delivery):
    """Commits that only recovery delivers."""

    @property
    def steps(self) -> Sequence[Step]:
        return partial(self.commit, 3), partial(self.commit, 1)


def values(query: str, number: int) -> list[int]:
    """The rows that a query gets from a commit; `q` gets none while there is no such query."""
    if number == 1 or (query == "q" and number == REMOVED):
        return []
    return [10 * number + place for place in range(random.Random(f"{number} {query}").randint(0, 3))]


def expected(query: str, number: int) -> list[int]:
    """All rows of a query after so many commits."""
    return [value for each in range(1, number + 1) for value in values(query, each)]


def told(number: int) -> dict[str, dict[str, str] | None]:
    """What a commit says of queries."""
    said: dict[int, dict[str, dict[str, str] | None]] = {
        1: {"q": {"sink": "parquet"}, "lines": {"sink": "jsonl"}},
        REMOVED: {"q": None},
        AGAIN: {"q": {"sink": "jsonl"}},
    }
    return said.get(number, {})


def letter(number: int) -> dict[str, Any]:
    return {"reason": "query q: division by zero", "arrival": 1.0, "query": "q", "offset": number}
