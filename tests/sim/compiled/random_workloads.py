"""Random workloads of all that compiled code knows, and whether two simulations gave the same."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import strategies as st
from tests.sim.builders import workload

from headgate.metrics import QueryRecords, Records
from headgate.workload import Workload

CLASSES = {"gold": 6.0, "silver": 2.5, "tin": 1.0}

costs = st.sampled_from(["0ms", "1ms", "2ms", "5ms", "7ms", "3333us"])
shares = st.sampled_from(["", "selectivity=0.0", "selectivity=0.3", "selectivity=0.75", "selectivity=1.0"])
arrivals = st.one_of(
    st.builds("poisson, rate={}, batch={}".format, st.sampled_from([20, 60, 150]), st.integers(1, 3)),
    st.builds("constant, rate={}".format, st.sampled_from([10, 40])),
    st.builds("onoff, rate={}, on=50ms, off=100ms".format, st.sampled_from([20, 80])),
    st.builds("onoff, rate={}, on=50ms, off=100ms, sources={}".format, st.sampled_from([20, 80]), st.integers(2, 9)),
    st.lists(st.sampled_from(["0", "10ms", "20ms", "100ms", "105ms", "300ms"]), min_size=1, max_size=6).map(
        lambda times: f"at, times=[{', '.join(times)}]"
    ),
)


def _operator(kind: str, *settings: str) -> str:
    return ", ".join([kind, *(setting for setting in settings if setting)])


@st.composite
def filters(draw: st.DrawFn, number: int) -> str:
    """An operator with one input: a filter of some kind, now and then shared by its name, or an aggregate."""
    kind = draw(st.sampled_from(["select", "select", "project", "table-join", "aggregate", "shared"]))
    cost = f"cost={draw(costs)}"
    overhead = draw(st.sampled_from(["", "overhead=1ms"]))
    if kind == "shared":
        return "select, name=hot, cost=1ms, selectivity=0.5"
    if kind == "project":
        return _operator(kind, cost, overhead)
    if kind == "aggregate":
        window = draw(st.sampled_from(["window=50ms", "window=100ms, slide=40ms", "window=30ms, slide=10ms"]))
        return _operator(kind, cost, overhead, window, draw(st.sampled_from(["", "selectivity=0.4"])))
    if kind == "table-join":
        return _operator(kind, cost, overhead, draw(st.one_of(shares, st.just("selectivity=2.4"))))
    more = draw(st.one_of(shares, st.just("pass=[true, false, true]"), st.just("selectivity=0.5, attribute=size")))
    return _operator(kind, cost, overhead, more)


@st.composite
def queries(draw: st.DrawFn, number: int, streams: list[str]) -> dict[str, Any]:
    """A query over one stream, or over two that it joins or unites."""
    about: dict[str, Any] = {"class": draw(st.sampled_from(list(CLASSES)))}
    chain = draw(st.lists(filters(number), min_size=1, max_size=3))
    if len(streams) > 1 and draw(st.integers(0, 3)) == 0:
        about["from"] = draw(st.permutations(streams))[:2]
        joins = ["join, cost=1ms, window=40ms, selectivity=0.3", "join, cost=2ms, window=20ms", "union, cost=1ms"]
        about["operators"] = [draw(st.sampled_from(joins)), *(text for text in chain if "name=hot" not in text)]
    else:
        about["from"] = [streams[0] if any("name=hot" in text for text in chain) else draw(st.sampled_from(streams))]
        shared = [text for text in chain if "name=hot" in text][:1]
        about["operators"] = [*shared, *(text for text in chain if "name=hot" not in text)]
    return about


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """A workload of a few queries that lasts a third of a second."""
    names = ["s", "t"][: draw(st.integers(1, 2))]
    streams = {
        name: {
            "arrivals": draw(arrivals),
            "bytes": draw(st.integers(1, 3)),
            "source_cost": draw(_source_costs),
            "source_overhead": draw(_source_costs),
        }
        for name in names
    }
    count = draw(st.integers(1, 6))
    head: dict[str, Any] = {
        "duration": "350 ms",
        "seed": draw(st.integers(0, 5)),
        "cores": draw(st.integers(1, 3)),
        "source_cores": draw(st.integers(1, 2)),
        **draw(st.sampled_from([{}, {"sources": "rr"}, {"sources": "mbd"}])),
        "windows": draw(st.sampled_from(["closing", "end"])),
        "drain": draw(st.booleans()),
        "noise": draw(st.sampled_from([0.0, 0.0, 0.05])),
        "run_overhead": draw(st.sampled_from(["0 ms", "0 ms", "1 ms"])),
        "train": draw(st.sampled_from([1, 1, 3, "all", 0.5])),
    }
    if draw(st.booleans()):
        head["load"] = draw(st.sampled_from([0.5, 0.9, 1.3]))
    made = {f"q{number}": draw(queries(number, names)) for number in range(count)}
    if not any("cost=0ms" not in text for about in made.values() for text in about["operators"]):
        head.pop("load", None)
    return workload(made, streams, classes=CLASSES, **head)


_source_costs = st.sampled_from(["0 ms", "0 ms", "2 ms"])


def differences(one: Records, other: Records) -> list[str]:
    """In what two simulations differ, to the last bit; how they were computed aside."""
    found = [
        f"{field.name}: {getattr(one, field.name)} and {getattr(other, field.name)}"
        for field in fields(Records)
        if field.name not in ("queries", "path") and getattr(one, field.name) != getattr(other, field.name)
    ]
    found += [
        f"{field.name} of {here.query}: {getattr(here, field.name)} and {getattr(there, field.name)}"
        for here, there in zip(one.queries, other.queries, strict=True)
        for field in fields(QueryRecords)
        if getattr(here, field.name) != getattr(there, field.name)
    ]
    return found
