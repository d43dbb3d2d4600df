"""The query networks of Carney 2005, chapters 3 and 4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workloads.make.text import comment, inline, table

# What the document does not print, one choice for all files: see experiments/carney.
CALL = ", overhead=15us"  # of an operator, the worker's
SYSTEM = {"train": "all", "run_overhead": "15 us", "decision_cost": "45 ns"}  # the storage manager's, the scheduler's


def files() -> dict[str, str]:
    """Texts by file name."""
    return {f"carney-{name}.toml": text for name, text in _all()}


def _all() -> Iterator[tuple[str, str]]:
    yield "3.4", _trees("3.4", 3, 5, 5, 0.6, "5 applications of fan-out 3 and depth 5: 121 boxes each (figure 3.6)")
    yield "3.7", _trees("3.7", 3, 5, 1, 0.5, "one application of fan-out 3 and depth 5, half loaded (figures 3.7, 3.8)")
    yield "3.9", _trees("3.9", 2, 5, 1, 0.5, "one application of fan-out 2 and depth 5, tuples in groups of four", 4)
    yield "3.10", _trees("3.10", 3, 5, 4, 0.6, "four applications of fan-out 3 and depth 5 (figure 3.10)")
    yield "4.2", _chains("4.2", TABLE_4_2, 5, 100.0, (0.01, 2.0), 10, 1200)
    yield "4.12", _chains("4.12", SECTION_4_4, 5, 100.0, (0.01, 2.0), 100, 1800)
    yield "4.4", _chains("4.4", TABLE_4_4, 10, 5.0, (0.075, 0.15, 0.225, 0.3), 250, 4000)
    yield "4.6", _overload()
    yield "4.7", _fluctuating()
    yield "fanout", _fanout()
    yield "straight", _chains("straight", STRAIGHT, 4, 100.0, (0.04, 3.04), 40, 2000)


TABLE_4_2 = """
    Carney 2005, table 4.2 (figures 4.4, 4.6, 4.14): 20 applications in a row of 5 boxes of 0.1 ms, deadlines of 0.01
    and 2 s in turn; utility falls from 1 to 0 within 0.1 ms behind them. 1200 tuples a second in all, as in figure 4.6.
"""
SECTION_4_4 = """
    Carney 2005, section 4.4.3 (figure 4.12): 200 applications in a row of 5 boxes. Costs and deadlines are not printed
    there: those of table 4.2 here. Nor is the rate: chosen so that nine tenths of the time are used, at which
    decisions that take time tell.
"""
TABLE_4_4 = """
    Carney 2005, table 4.4 (figure 4.15, table 4.5): 1000 applications in a row of 10 boxes of 5 us, four deadlines in
    turn. 4000 tuples a second in all, the rate of table 4.5. The boxes alone use a fifth of the time, yet the document
    has the system full at 3500 to 4500 a second: the overheads of all these files are calibrated here. With 15 us for
    a run and 15 us for each box that it calls, 4000 tuples ask for 0.86 before anything is decided; and deciding takes
    the share of the time that table 4.5 has for fixed-priority.
"""
STRAIGHT = """
    Carney 2005, section 4.7 (figure 4.26): 80 applications in a row of 4 boxes, two deadlines in turn. Costs and rates
    are not printed: 0.1 ms a box as in table 4.2, and eight tenths of the time here. See carney-fanout.
"""


def _chains(name: str, says: str, depth: int, cost: float, deadlines: Sequence[float], each: int, rate: float) -> str:
    """Applications of one path; `each` of them for every deadline, `rate` tuples a second in all, costs in us."""
    arrivals = f"poisson, rate={rate / (each * len(deadlines)):g}"
    text = comment(says) + table("[workload]", name=f"carney-{name}", duration="10 s", **SYSTEM)
    for number, deadline in enumerate(deadlines, 1):
        text += table("[[stream]]", name=f"in{number}-", count=each, arrivals=arrivals)
        text += _chain(f"app{number}-", f"in{number}-$number", depth, f"{cost:g}us", deadline, each)
    return text


def _chain(name: str, stream: str, depth: int, cost: str, deadline: float, count: int | None) -> str:
    return table(
        "[[query]]",
        name=name,
        count=count,
        from_=[stream],
        operators=[f"select, cost={cost}{CALL}"] * depth,
        qos=_step(deadline),
    )


def _step(deadline: float) -> list[list[float]]:
    return [[0.0, 1.0], [deadline, 1.0], [round(deadline + 0.0001, 6), 0.0]]


def _overload() -> str:
    says = """
        Carney 2005, section 4.6.1 (table 4.6): the network of table 4.2, and one of the tightly bound applications gets
        more than it can handle. The document says neither how much nor what the others get. It follows from the table
        that about half of all tuples are its own: slope-slack gives these up, and has half the QoS over tuples that it
        has over applications. Chosen is that all ask for the whole capacity: 1000 tuples a second, and as many for the
        other 19 together.
    """
    text = comment(says) + table("[workload]", name="carney-4.6", duration="10 s", **SYSTEM)
    text += table("[[stream]]", name="flood", arrivals="poisson, rate=1000")
    text += _chain("flooded", "flood", 5, "100us", 0.01, None)
    for number, (deadline, count) in enumerate(((0.01, 9), (2.0, 10)), 1):
        text += table("[[stream]]", name=f"in{number}-", count=count, arrivals=f"poisson, rate={1000 / 19:.4g}")
        text += _chain(f"app{number}-", f"in{number}-$number", 5, "100us", deadline, count)
    return text


def _fluctuating() -> str:
    says = """
        Carney 2005, section 4.6.2 (table 4.7): the network of table 4.2; in turn 40 000 tuples at 60 % of the capacity
        and 15 000 at 130 %. An application's 5 boxes take 0.5 ms a tuple, so the capacity is 2000 tuples a second:
        1200 for 33.3 s, then 2600 for 5.8 s. The document has 500 000 tuples, about nine of these rounds.
    """
    text = comment(says) + table("[workload]", name="carney-4.7", duration="352 s", **SYSTEM)
    for number, deadline in enumerate((0.01, 2.0), 1):
        text += table("[[stream]]", name=f"in{number}-", count=10, arrivals=_rounds(9))
        text += _chain(f"app{number}-", f"in{number}-$number", 5, "100us", deadline, 10)
    return text


def _rounds(rounds: int) -> str:
    """33.333 s at 60 a second for each of 20 streams, 5.769 s at 130, and again."""
    starts = [moment for number in range(rounds) for moment in (number * 39102, number * 39102 + 33333)]
    times = ", ".join("0" if moment == 0 else f"{moment}ms" for moment in starts)
    return f"steps, rates=[{', '.join(['60', '130'] * rounds)}], at=[{times}]"


def _fanout() -> str:
    says = """
        Carney 2005, section 4.7 (figure 4.25): 10 applications of fan-out 2 and depth 4: 8 inputs and 15 boxes each,
        two deadlines in turn. Costs and rates are not printed: 0.1 ms a box, and eight tenths of the time here. Under
        push-through it is to behave like carney-straight.
    """
    leaves = [f"in{leaf}-" for leaf in range(1, 9)]
    rows = [{"name": f"{kind}-{leaf}", "count": 5, "arrivals": "poisson, rate=25"} for kind in KINDS for leaf in leaves]
    text = comment(says) + inline(rows, "stream") + table("[workload]", name="carney-fanout", duration="10 s", **SYSTEM)
    for kind, deadline in KINDS.items():
        boxes = _tree(2, 4, [f"{kind}-{leaf}$number" for leaf in leaves], "100us")
        text += table("[[query]]", name=f"{kind}-", count=5, qos=_step(deadline), operators=boxes)
    return text


KINDS = {"tight": 0.04, "loose": 3.04}


def _trees(name: str, fanout: int, depth: int, count: int, load: float, what: str, batch: int = 1) -> str:
    says = f"""
        Carney 2005, section 3.4: {what}. A box's cost is drawn from 0.1 to 1 ms and selectivities are 1. `load` is the
        document's "capacity": the share of the time that tuples ask for, overheads aside, and rates follow from it.
        Chosen: one cost for all boxes of an application, and the overheads, which the document does not print (those of
        carney-4.4). The leaves have a stream each, at equal rates.
    """
    leaves = [f"in{leaf}-" for leaf in range(1, fanout ** (depth - 1) + 1)]
    group = f", batch={batch}" if batch > 1 else ""
    rows = [{"name": leaf, "count": count, "arrivals": f"poisson, rate=1{group}"} for leaf in leaves]
    boxes = _tree(fanout, depth, [f"{leaf}$number" for leaf in leaves], "$cost")
    return (
        comment(says)
        + inline(rows, "stream")
        + table(
            "[workload]", name=f"carney-{name}", duration="20 s", load=load, load_of="costs", load_by="rates", **SYSTEM
        )
        + table(
            "[[query]]",
            name="app",
            count=count,
            draw={"cost": "uniform, low=100us, high=1ms"},
            qos=[[0.0, 1.0], [0.5, 1.0], [5.0, 0.0]],
            operators=boxes,
        )
    )


def _tree(fanout: int, depth: int, streams: Sequence[str], cost: str) -> list[str]:
    """A box for each stream, then a box for every `fanout` of the level before, up to one.

    >>> for box in _tree(2, 2, ["a", "b"], "1ms"):
    ...     print(box)
    select, from=a, as=b2-1, cost=1ms, overhead=15us
    select, from=b, as=b2-2, cost=1ms, overhead=15us
    union, from=[b2-1, b2-2], as=b1-1, cost=1ms, overhead=15us
    """
    boxes = [f"select, from={name}, as=b{depth}-{place}, cost={cost}{CALL}" for place, name in enumerate(streams, 1)]
    for level in range(depth - 1, 0, -1):
        for place in range(fanout ** (level - 1)):
            below = ", ".join(f"b{level + 1}-{fanout * place + child}" for child in range(1, fanout + 1))
            boxes.append(f"union, from=[{below}], as=b{level}-{place + 1}, cost={cost}{CALL}")
    return boxes
