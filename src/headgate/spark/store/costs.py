"""The measured costs of a data directory's queries in `costs.json`, for people to read: the engine does not need it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from headgate.model import HeadgateError
from headgate.spark.store.atomic_files import read_json, write_json

NAME = "costs.json"


class Number(NamedTuple):
    """A fitted number and its standard error."""

    value: float
    spread: float


@dataclass(frozen=True, slots=True)
class UnitCost:
    """A run takes about `jobs * per_job + taken * per_taken + read * per_read + results * per_result` seconds."""

    query_class: str
    per_job: Number
    per_taken: Number  # tuples, counted for one of its queries
    per_read: Number  # tuples, also those of windows that earlier runs took
    per_result: Number
    error: float | None  # the median of |predicted - measured| / measured over the latest runs
    runs: int  # these runs


@dataclass(frozen=True, slots=True)
class QueryCost:
    """The numbers by which policies decide: a run on n tuples takes about `run_overhead + overhead + n * cost`."""

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
    units: dict[str, UnitCost] = field(default_factory=dict)
    error: float | None = None  # the median of |predicted - measured| / measured over the latest runs
    crowding: float = 0.0  # how much slower a run is beside another one
    cancelled_runs: int = 0  # for something more important
    cancelled_share: float = 0.0  # of the time of all runs

    def save(self, directory: Path) -> None:
        write_json(directory / NAME, asdict(self))

    @classmethod
    def load(cls, directory: Path) -> Costs:
        file = directory / NAME
        if not file.is_file():
            raise HeadgateError(
                "nothing has been measured here", where=str(directory), hint="run a workload there: headgate run FILE"
            )
        try:
            fields: dict[str, Any] = read_json(file)
        except HeadgateError as error:
            hint = "delete it: it is written anew when queries run"
            raise HeadgateError(error.message, where=str(file), hint=hint) from error
        queries = {name: QueryCost(**cost) for name, cost in fields.pop("queries").items()}
        units = {name: _unit(cost) for name, cost in fields.pop("units", {}).items()}
        return cls(**fields, queries=queries, units=units)


def _unit(stored: dict[str, Any]) -> UnitCost:
    numbers = {name: Number(*value) for name, value in stored.items() if name.startswith("per_")}
    return UnitCost(**{**stored, **numbers})
