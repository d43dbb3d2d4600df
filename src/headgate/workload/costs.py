"""Costs of operators that come from SQL: one default for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headgate.model import Given, Kind, Operator
from headgate.workload.file_locations import FileLocations
from headgate.workload.kinds import GIVEN, OUTCOMES, RULES, given, kind_of
from headgate.workload.settings import Settings


def read_costs(section: Mapping[str, str], locations: FileLocations) -> dict[Kind, Given]:
    """The [costs] table: `select = "cost=5us, selectivity=0.5"`."""
    costs = {}
    for name, text in section.items():
        with locations.at("costs", name):
            kind = kind_of(name)
            settings = Settings(f"{name}, {text}")
            settings.only(GIVEN + tuple(key for key in RULES[kind].settings if key in OUTCOMES))
            costs[kind] = given(kind, settings)
    return costs


def with_costs(operator: Operator, costs: Mapping[Kind, Given]) -> Operator:
    """The same plan with every operator's cost as its kind's.

    >>> from headgate.model import Select, Source
    >>> with_costs(Select(inputs=(Source("s"),)), {Kind.SELECT: Given(cost=0.001)}).given.cost
    0.001
    """
    inputs = tuple(with_costs(child, costs) if isinstance(child, Operator) else child for child in operator.inputs)
    return replace(operator, inputs=inputs, given=costs.get(operator.kind, operator.given))
