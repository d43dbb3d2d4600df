"""What a workload file may hold, table by table. Whether names fit together is checked later."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from headgate.model import ONE_TUPLE, QoS, Target, Train
from headgate.plan.fusion import Fuse
from headgate.workload.fields import (
    Ahead,
    Columns,
    Cost,
    Duration,
    Fusing,
    Graph,
    Length,
    LoadCounts,
    LoadScales,
    Name,
    Names,
    OperatorPosition,
    Priority,
    Sources,
    Statistics,
    TrainSize,
    Wanted,
    Windows,
)
from headgate.workload.workload import LoadBy, LoadOf

MOST_CORES = 10_000  # more are a typing error, and would only fill the memory


class Section(BaseModel):
    """A table of the file; unknown keys and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def keys(cls) -> list[str]:
        """The keys as they are written in the file."""
        return [field.alias or name for name, field in cls.model_fields.items()]


class WorkloadSection(Section):
    """[workload]: the run as a whole."""

    name: str | None = None
    duration: Length | None = None
    seed: int = Field(1, ge=0)
    cores: int = Field(1, ge=1, le=MOST_CORES)
    source_cores: int = Field(1, ge=0, le=MOST_CORES)
    sources: Sources = ""
    windows: Windows = "closing"
    drain: bool = True
    load: float | None = Field(None, gt=0)
    load_of: LoadCounts = LoadOf.ALL
    load_by: LoadScales = LoadBy.COSTS
    train: TrainSize = ONE_TUPLE
    fuse: Fusing = Fuse.OFF
    noise: float = Field(0.0, ge=0, lt=1)
    statistics: Statistics = "given"
    run_overhead: Cost = 0.0
    decision_cost: Cost = 0.0

    @property
    def run_takes(self) -> Train:
        train: Train = self.train
        return train

    @property
    def fused(self) -> Fuse:
        fuse: Fuse = self.fuse
        return fuse


class StreamSection(Section):
    """[[stream]]: where tuples come from."""

    name: Name
    arrivals: str | None = None
    schema_: Columns = Field((), alias="schema")
    event_time: str | None = None
    watermark: Cost | None = None
    ahead: Ahead | None = None
    source_cost: Cost = 0.0
    source_overhead: Cost = 0.0
    bytes: int = Field(1, ge=1)
    source: str | None = None
    count: int | None = Field(None, ge=1, le=100_000)


class TableSection(Section):
    """[[table]]: a stored table that SQL may join with."""

    name: Name
    schema_: Columns = Field((), alias="schema")
    path: str | None = None


class ClassSection(Section):
    """[[class]]: a name and a priority."""

    name: Name
    priority: Priority = 1.0
    lag: str | None = None
    target: Wanted | None = None

    @property
    def wanted(self) -> Target | None:
        target: Target | None = self.target
        return target


class QuerySection(Section):
    """[[query]]: operators or SQL."""

    name: Name
    query_class: str | None = Field(None, alias="class")
    from_: Names | None = Field(None, alias="from")
    operators: list[str] | None = None
    sql: str | None = None
    qos: Graph | None = None
    start: Cost = 0.0
    end: Duration = float("inf")
    sink: str | None = None
    since: Literal["now", "start"] = "now"
    once: bool = False
    lag: str | None = None
    target: Wanted | None = None
    count: int | None = Field(None, ge=1, le=100_000)
    draw: dict[str, str] = Field(default_factory=dict)

    @property
    def graph(self) -> QoS | None:
        graph: QoS | None = self.qos
        return graph

    @property
    def wanted(self) -> Target | None:
        target: Target | None = self.target
        return target


class ChangeSection(Section):
    """[[change]]: what is different from a moment on."""

    at: Cost
    stream: str | None = None
    rate: float | None = Field(None, ge=0)
    query: str | None = None
    operator: OperatorPosition | None = None
    selectivity: float | None = Field(None, ge=0)
    cost: Cost | None = None
    query_class: str | None = Field(None, alias="class")
    priority: Priority | None = None
    policy: str | None = None

    @property
    def changed(self) -> frozenset[str]:
        """The keys that are set, as they are written in the file."""
        fields = type(self).model_fields
        return frozenset(fields[name].alias or name for name in self.model_fields_set) - {"at"}


class File(Section):
    """The whole file."""

    workload: WorkloadSection = WorkloadSection.model_validate({})
    stream: list[StreamSection] = Field(default_factory=list)
    table: list[TableSection] = Field(default_factory=list)
    class_: list[ClassSection] = Field(default_factory=list, alias="class")
    query: list[QuerySection] = Field(default_factory=list)
    costs: dict[str, str] = Field(default_factory=dict)
    change: list[ChangeSection] = Field(default_factory=list)


TABLES: dict[str, type[Section]] = {
    "workload": WorkloadSection,
    "stream": StreamSection,
    "table": TableSection,
    "class": ClassSection,
    "query": QuerySection,
    "change": ChangeSection,
}


def keys_of(table: Any) -> list[str]:
    """The keys that a table may have."""
    return TABLES[table].keys() if table in TABLES else File.keys()
