"""Measured costs in the data directory, and how people see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.cli.explain_costs import explain
from headgate.model import HeadgateError
from headgate.spark.store.atomic_files import read_json, write_json
from headgate.spark.store.costs import NAME, Costs, Number, QueryCost, UnitCost

NUMBERS = Number(0.06, 0.004), Number(2e-6, 1e-7), Number(5e-6, 2e-6), Number(0.0, 3e-6)
COSTS = Costs(
    "express",
    0.06,
    320.0,
    {"readings": 400.0},
    {"fire": QueryCost("critical", 3e-6, 0.01, 0.1, 70, 4000)},
    {"fire…leak (2 queries)": UnitCost("critical", *NUMBERS, 0.17, 64)},
    error=0.2,
    crowding=0.3,
    cancelled_runs=3,
    cancelled_share=0.04,
)


def test_costs_come_back(tmp_path: Path) -> None:
    COSTS.save(tmp_path)
    assert Costs.load(tmp_path) == COSTS


def test_costs_of_an_older_version_have_no_units(tmp_path: Path) -> None:
    COSTS.save(tmp_path)
    stored = read_json(tmp_path / NAME)
    write_json(tmp_path / NAME, {key: stored[key] for key in ("policy", "run_overhead", "train", "rates", "queries")})
    assert (Costs.load(tmp_path).units, Costs.load(tmp_path).error) == ({}, None)


def test_people_see_each_number_with_its_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    COSTS.save(tmp_path)
    explain(tmp_path, None, as_json=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert "a job costs 60ms whatever it does" in shown
    assert "predicted with an error of 20%" in shown
    assert "3 runs gave way to something more important: 4.0% of the time of all runs" in shown
    assert "60ms ± 4ms" in shown
    assert "17%" in shown


def test_nothing_measured_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(HeadgateError, match="nothing has been measured here"):
        explain(tmp_path, None, as_json=False)
