"""What the experiments on partitions share (sections 2.3 and 2.4)."""

from __future__ import annotations

from dataclasses import replace

from headgate.freshness import plan
from headgate.freshness.heuristics import approximate
from headgate.freshness.setups import LARGE, Setup
from headgate.reproduction import Measurements, Sample

KEYS = ("p", "lambda", "p/lambda", "pf")


def shares(setup: Setup, partitions: int) -> dict[str, float | None]:
    """Perceived freshness by each way to cut the elements into partitions, and the most there is."""
    elements = setup.elements()
    found: dict[str, float | None] = {
        by: approximate(elements, setup.syncs, by=by, partitions=partitions).perceived_freshness for by in KEYS
    }
    return {**found, "optimum": plan(elements, setup.syncs).perceived_freshness}


def large(objects: int, seed: int) -> Setup:
    """The large case of table 2.3, or as much of it."""
    scale = objects / LARGE.objects
    return replace(LARGE, objects=objects, updates=LARGE.updates * scale, syncs=LARGE.syncs * scale, seed=seed)


def largest(found: Measurements, measure: str) -> Sample:
    """Of the whole large case if it was run, else of the part that quick reproductions take."""
    return found.sample(measure, "large" if "large" in found.results else "part")
