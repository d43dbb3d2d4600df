"""The measured costs of a data directory's queries in `costs.json`, for people to read: the engine does not need it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headgate.model import HeadgateError
from headgate.spark.store.atomic_files import read_json, write_json

NAME = "costs.json"


@dataclass(frozen=True, slots=True)
class QueryCost:
    """A run of the query on n tuples takes about `run_overhead + overhead + n * cost` seconds."""

    query_class: str
    cost: float  # seconds per tuple
    overhead: float  # seconds per run, beyond what every run costs
    selectivity: float | None  # results per tuple
    runs: int
    tuples_in: int


@dataclass(frozen=True, slots=True)
class Costs:
    """The numbers by which the policy last decided."""

    policy: str
    run_overhead: float  # seconds that every run costs
    train: float  # tuples that a run takes on average
    rates: dict[str, float]  # tuples per second of each stream
    queries: dict[str, QueryCost] = field(default_factory=dict)

    def save(self, directory: Path) -> None:
        write_json(directory / NAME, asdict(self))

    @classmethod
    def load(cls, directory: Path) -> Costs:
        file = directory / NAME
        if not file.is_file():
            raise HeadgateError(
                "nothing has been measured here", where=str(directory), hint="run a workload there: headgate run FILE"
            )
        fields: dict[str, Any] = read_json(file)
        queries = {name: QueryCost(**cost) for name, cost in fields.pop("queries").items()}
        return cls(**fields, queries=queries)
