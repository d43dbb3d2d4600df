from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

WORKLOAD = """
[workload]
duration = "1 s"

[[stream]]
name = "s"
arrivals = "poisson, rate=200"

[[query]]
name = "long"
from = ["s"]
operators = ["select, cost=3ms"]

[[query]]
name = "short"
from = ["s"]
operators = ["select, cost=1ms"]
"""
DOCUMENT = """
from headgate.reproduction import Document

DOCUMENT = Document("paper", "A paper", chosen="All costs are chosen.")
"""
SHARED = "FACTOR = 2.0\n"
SLOWDOWN = """
from PACKAGE.paper.shared import FACTOR
from headgate.reproduction import Calculation, Experiment, Order, Picture, Simulation, Size, Value, grid


def queries(records):
    return {"largest": max(len(query.emission) for query in records.queries)}


def factor(size, seed):
    return {"factor": FACTOR, "seed": seed}


def compare(found):
    yield Order("mean slowdown", ("srpt", "fcfs"), found.samples("slowdown.mean", 0.8))
    yield Value("factor", 2.0, found.sample("factor", "factor"))
    yield Value("largest", 1.0, found.sample("largest", "own"))


EXPERIMENT = Experiment(
    document="paper", id="F1", source="figure 1", claim="short ones first",
    runs={
        **grid("two", ["fcfs", "srpt"], "load", [0.8]),
        "own": Simulation(workload="two", policy="fcfs", settings={"load": 0.8}, measure=queries),
        "factor": Calculation(function=factor),
    },
    compare=compare,
    picture=lambda found: Picture({"fcfs": [(0.8, found.sample("results", "own").band)]}, "load", "results"),
    quick=Size(seeds=1), full=Size(seconds=2.0, seeds=2),
    paragraph="The largest is not printed.",
)
"""
RESPONSE = """
from headgate.reproduction import Experiment, Order, Size, grid


def compare(found):
    yield Order("mean response", ("srpt", "fcfs"), found.samples("response_time.mean", 0.8))


EXPERIMENT = Experiment(
    document="paper", id="F10", source="figure 10", claim="short ones answer sooner",
    runs=grid("two", ["fcfs", "srpt", "hnr"], "load", [0.8]),
    compare=compare, quick=Size(seeds=1), full=Size(seconds=2.0, seeds=2),
)
"""
WORSE = RESPONSE.replace('("srpt", "fcfs")', '("fcfs", "srpt")').replace('"F10"', '"F2"')


@pytest.fixture
def experiments(tmp_path: Path) -> Iterator[Path]:
    """A folder with three experiments of one document; F1 and F10 share two runs, F2 all of F10's."""
    package = f"experiments_{uuid4().hex}"  # imported modules stay: every test has its own
    folder = tmp_path / package / "paper"
    folder.mkdir(parents=True)
    (tmp_path / package / "__init__.py").touch()
    files = {"__init__": DOCUMENT, "shared": SHARED, "one": SLOWDOWN, "two": RESPONSE, "three": WORSE}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text.replace("PACKAGE", package), encoding="utf-8")
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "two.toml").write_text(WORKLOAD, encoding="utf-8")
    before = list(sys.path)
    yield tmp_path / package
    sys.path[:] = before
    for name in [name for name in sys.modules if name.startswith(package)]:
        del sys.modules[name]
