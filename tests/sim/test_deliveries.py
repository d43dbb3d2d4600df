"""Arrivals in blocks are the same as all at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.builders import workload

from headgate.sim.arrivals import arrivals
from headgate.sim.deliveries import DeliveryBlock, delivery_blocks
from headgate.sim.feeds import Feeds
from headgate.workload import Workload

PROCESSES = [
    "poisson, rate=900",
    "constant, rate=333, start=100ms",
    "onoff, rate=400, on=20ms, off=30ms",
    "onoff, rate=400, on=20ms, off=30ms, sources=32",
    "steps, rates=[100, 900], every=200ms",
    "at, times=[0, 0, 0, 500ms, 500ms, 500ms, 1s]",
    "poisson, rate=0.1",
]


@pytest.mark.parametrize("text", PROCESSES)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_are_the_same_times(text: str, size: int) -> None:
    process = arrivals(text)
    whole = process.times(2.0, np.random.default_rng(3))
    blocks = list(process.blocks(2.0, np.random.default_rng(3), size))
    assert np.concatenate([np.empty(0), *blocks]).tolist() == whole.tolist()


processes = st.sampled_from(PROCESSES)


@st.composite
def fed(draw: st.DrawFn) -> Workload:
    names = ["r", "s", "t"][: draw(st.integers(1, 3))]
    streams = {
        name: {
            "arrivals": f"{draw(processes)}, batch={draw(st.integers(1, 3))}",
            "source_cost": draw(st.sampled_from(["0 ms", "1 ms", "20 ms"])),
            "source_overhead": draw(st.sampled_from(["0 ms", "0 ms", "5 ms"])),
        }
        for name in names
    }
    reading = {name: {"from": [name], "operators": ["select, cost=1ms"]} for name in names}
    cores = draw(st.integers(0, 3))
    orders: list[dict[str, Any]] = [{}, {"sources": "rr"}, {"sources": "mbd"}]
    order = draw(st.sampled_from(orders)) if cores else {}
    return workload(reading, streams, duration="1 s", source_cores=cores, **order)


@given(fed(), st.sampled_from([1, 3, 50, 10_000]))
@settings(max_examples=60)
def test_blocks_of_deliveries_are_the_same_deliveries(given: Workload, size: int) -> None:
    feeds = Feeds.of(given)
    blocks = list(delivery_blocks(given, size))
    names = [stream.name for stream in given.streams]
    found = [
        (at, names[stream], tuples)
        for block in blocks
        for at, stream, tuples in zip(block.at.tolist(), block.stream.tolist(), block.tuples.tolist(), strict=True)
    ]
    assert found == [(delivery.at, delivery.stream, delivery.tuples) for delivery in feeds.deliveries]
    for name in names:
        times = np.concatenate([np.empty(0), *(block.times[name] for block in blocks)])
        assert times.tolist() == feeds.times[name].tolist()
    assert [block.last for block in blocks] == [False] * (len(blocks) - 1) + [True]
    check_floors(blocks, [delivery.arrival for delivery in feeds.deliveries])


def check_floors(blocks: list[DeliveryBlock], arrivals: list[float]) -> None:
    """No later delivery has a tuple from before the floor, and floors rise."""
    floors = [floor for block in blocks for floor in block.floor.tolist()]
    assert all(one <= other for one, other in pairwise(floors))
    for place, floor in enumerate(floors):
        assert floor <= min(arrivals[place:])
