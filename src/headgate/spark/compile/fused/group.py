"""Groups of queries of one form, compiled once, run as one job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from headgate.model import Aggregate, Join
from headgate.plan.sharing import Place
from headgate.plan.template import Template
from headgate.spark.compile.executor_writes import Written
from headgate.spark.compile.frames import Catalog
from headgate.spark.compile.fused.aggregates import FusedAggregates
from headgate.spark.compile.fused.filters import FusedRows
from headgate.spark.compile.fused.joins import FusedJoins
from headgate.spark.compile.fused.row_isolation import Told
from headgate.spark.compile.leaf_rows import Leaf, Rows
from headgate.spark.compile.prepared_query import PreparedQuery


@dataclass(frozen=True, slots=True)
class Member:
    """A query of a group."""

    template: Template
    prepared: PreparedQuery

    @property
    def outputs(self) -> tuple[str, ...] | None:
        found = self.template.outputs
        return None if found is None else tuple(column.expression for column in found)


class Fused(Protocol):
    """A group that can run: what each member's leaves take, and the rows that this adds for each."""

    def run(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[pa.Table]: ...

    def run_careful(self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows]) -> list[Told]:
        """The same where expressions may fail on rows: with what failed for each member."""

    def write(
        self, leaves: Sequence[Mapping[Place, Leaf]], logs: Mapping[str, Rows], aside: Path
    ) -> Sequence[pa.Table | Written] | None:
        """The same where executors read the train and write many rows; None: each member for itself."""


def fused(catalog: Catalog, members: Sequence[Member]) -> Fused:
    """The group of members of one form."""
    core = members[0].template.core
    templates = [member.template for member in members]
    schemas = [member.prepared.schema for member in members]
    if isinstance(core, Aggregate):
        return FusedAggregates.of(catalog, templates, schemas, [member.prepared for member in members])
    if isinstance(core, Join):
        return FusedJoins.of(catalog, templates, schemas)
    return FusedRows.of(catalog, templates, schemas)
