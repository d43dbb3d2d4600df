"""The workloads of Al Moakar 2013, tables 1 to 11."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headgate.sim.load import offered_load
from headgate.workload.reader import parse_workload
from workloads.make.text import comment, inline, table

KINDS = ("aggregate", "join", "select")
CHOSEN = """
    The document prints neither the costs nor the queries. Chosen here: the ratios of the costs below, a call's overhead
    of {calls:g} times the cost of one tuple, how many queries of a class are of which kind where the table says "all",
    windows of 10 ms (its "10 time units"), and joins that keep one pair in 20 (its 20 locations). Costs vary by 5 %, as
    in its simulator. The system is to be loaded but not overloaded: tuples alone ask for {busy:g} of the cores'
    time{same}, and what calls cost is up to how many tuples wait for them. {streams} {sources}

    Overheads are calibrated on figures 70 to 75: there the weighted response time is 2.1 to 2.2 ms, on 2 to 16 cores.
"""
OWN = "Every query reads streams of its own: the document's first 21 queries had 27 streams."
COPIES = """
    Its queries are those of a smaller workload several times, and so are they here: on the same streams, since one core
    reads the sources of 2 to 16 others without being in their way (sections 6.3.2 and 6.3.6).
"""
TOGETHER = "All classes read the same 27 streams, as the document says of them."
ON_ONE = "Its single-core system reads sources only when no operator has tuples (section 2.2.1)."
APART = "A core of their own reads the sources, in turn (sections 2.2.2 and 6.2)."
READ = "Reading a tuple costs as much as the cheapest operator, and so does a call."
OPERATORS: Mapping[str, tuple[tuple[str, int, str], ...]] = {
    "aggregate": (("aggregate", 3, ", window=10ms"), ("project", 1, "")),
    "join": (("join", 6, ", selectivity=0.05, window=10ms"), ("project", 1, "")),
    "select": (("select", 2, ", selectivity=$share"), ("project", 1, "")),
}
SHARE = {"share": "uniform, low=0.25, high=1.0"}
TUPLES = 10_000  # per stream
CALLING = 2.0  # overhead of a call, in costs of a tuple


@dataclass(frozen=True)
class Plan:
    """One workload: how many aggregates, joins and selects each class has, and how it is run."""

    name: str
    says: str
    classes: Sequence[tuple[int, int, int]]
    priorities: Sequence[int]
    rate: int
    cores: int = 1
    busy: float = 0.85  # the share of the cores' time that tuples ask for, calls aside
    like: str = ""  # the workload whose costs it has
    seconds: float | None = None  # how long 10 000 tuples take, unless said
    arrivals: Mapping[int, str] | None = None  # of a class, where they are not Poisson at the rate
    apart: bool = True  # sources have a core of their own
    copies: int = 1  # how many queries of a kind in a class read the same streams
    together: Sequence[
        int
    ] = ()  # for how many aggregates, joins and selects there are streams, if all classes share them
    shared: bool = False  # a union and an except of all classes
    changes: Sequence[Mapping[str, object]] = ()


def files() -> dict[str, str]:
    """Texts by file name."""
    costs: dict[str, int] = {}  # of the cheapest operator, by workload
    for plan in plans():
        costs[plan.name] = costs[plan.like] if plan.like else _cost(plan)
    return {f"almoakar-{plan.name}.toml": _text(plan, costs[plan.name]) for plan in plans()}


def plans() -> Iterator[Plan]:
    """All of them."""
    alike, joins, eight, eleven = (3, 2, 2), (0, 2, 0), (4, 2, 2), (5, 2, 4)
    yield Plan("A", "Table 2: the same queries in every class, one core.", [alike] * 3, (6, 3, 1), 1500, apart=False)
    yield Plan(
        "B",
        "Table 2: few queries in class 1, one core.",
        [joins, eight, eleven],
        (3, 2, 1),
        1500,
        like="A",
        apart=False,
    )
    yield Plan(
        "C",
        "Table 2: the queries of B, other priorities.",
        [joins, eight, eleven],
        (6, 3, 1),
        1500,
        like="A",
        apart=False,
    )
    yield Plan("D", "Table 4: the same queries in every class, one core.", [alike] * 3, (30, 20, 10), 1600)
    yield Plan("E", "Table 4: few queries in class 1.", [joins, eight, eleven], (60, 30, 10), 1500, like="D")
    says = "Table 4: the queries of E, classes 1 and 3 exchanged."
    yield Plan("F", says, [eleven, eight, joins], (60, 30, 10), 1500, like="D")
    yield from _fives()
    yield from _sixes()
    yield _everything()


def _fives() -> Iterator[Plan]:
    """The five-class workloads of which class 3 is the heaviest and class 1 the lightest."""
    once, priorities = [(2, 1, 0), (2, 1, 2), (3, 2, 2), (2, 2, 2), (2, 1, 1)], (50, 40, 30, 20, 10)
    twice, four = _times(once, 2), _times(once, 4)
    knee = (
        "It is loaded less than others: these queries are overloaded from 1600 tuples a second on, says figure 83, so "
        "at 1200 they cannot ask for more than three quarters."
    )
    ramp = "steps, rates=[" + ", ".join(str(rate) for rate in range(600, 2401, 100)) + "], every=360ms"
    yield Plan("5G", f"Table 5: five classes on one core. {knee}", once, priorities, 1200, 1, 0.75)
    says = f"Table 8: four times 5G, on four cores. {knee}"
    yield Plan("5G_4", says, four, priorities, 1200, 4, 0.75, "5G", copies=4)
    says = "Table 8: the queries of 5G_4 at half the rate, on two cores."
    yield Plan("5G_2", says, four, priorities, 600, 2, 0.75, "5G", copies=4)
    yield Plan("5S_2", "Table 9: half of 5G_4, on two cores.", twice, priorities, 1200, 2, 0.75, "5G", copies=2)
    says = (
        "Table 10, on two cores: the rate rises from 600 to 2400 tuples a second, and passes 1600, where the document "
        "has it overloaded, at 3.6 s (section 6.3.2.3)."
    )
    every = dict.fromkeys(range(1, 6), ramp)
    yield Plan("5O_2", says, twice, priorities, 1200, 2, 0.75, "5G", 6.84, every, copies=2)


def _sixes() -> Iterator[Plan]:
    """Sixty-three queries on six cores."""
    few, some, many = (6, 4, 4), (9, 6, 6), (12, 8, 8)
    alike = Plan("3D_6", "Table 7: three equal classes on six cores.", [some] * 3, (60, 30, 10), 3600, 6, together=some)
    yield alike
    says = "Table 7: the less important, the heavier."
    classes = [few, some, many]
    yield replace(alike, name="3E_6", says=says, classes=classes, priorities=(30, 20, 10), like="3D_6")
    says = "Table 7: 3E_6, classes 1 and 3 exchanged."
    yield replace(alike, name="3F_6", says=says, classes=classes[::-1], priorities=(30, 20, 10), like="3D_6")
    five = [(5, 4, 3), (5, 3, 4), (7, 5, 3), (5, 3, 4), (5, 3, 4)]
    says = "Table 8: the same 63 queries in five classes, of which class 3 is the heaviest."
    yield replace(alike, name="5I", says=says, classes=five, priorities=(50, 40, 30, 20, 10), like="3D_6")


def _everything() -> Plan:
    """Workload 5L: rates, selectivities and priorities change, and all classes share two queries."""
    classes = [(8, 5, 7), (12, 8, 12), (14, 12, 12), (14, 12, 12), (12, 8, 12)]
    says = """
        Table 11 and figures 120 to 123: a union and an except that all classes share, and everything changes.
        Priorities change as section 6.3.7 says; what becomes of class 5's is not printed, so it stays. Of the rates
        it says that class 5 has two spikes of 2000 a second and class 1 sinks at times, and of selectivities that
        those of selections and joins in classes 2 and 3 move: when and how far is chosen here.
    """
    priorities = [("c1", 7.5, 50), ("c2", 4.5, 50), ("c4", 4.5, 20), ("c4", 7.5, 15)]
    changes: list[Mapping[str, object]] = [
        {"at": f"{at} s", "class": name, "priority": priority} for name, at, priority in priorities
    ]
    moves = {2: ((3.0, 0.3), (6.0, 0.8)), 3: ((4.0, 0.2), (8.0, 0.6))}  # the share that selections pass from then on
    for number, steps in moves.items():
        _, joins, selects = classes[number - 1]
        for at, share in steps:
            named = [(name, share) for name in _names(number, "select", selects, -(-selects // 4))]
            named += [(name, round(0.1 * share, 3)) for name in _names(number, "join", joins, -(-joins // 4))]
            changes += [{"at": f"{at} s", "query": query, "operator": 0, "selectivity": kept} for query, kept in named]
    arrivals = {
        1: "steps, rates=[1200, 600, 900, 600], at=[0, 2s, 5s, 7s]",
        5: "steps, rates=[1200, 2000, 1200, 2000, 1200], at=[0, 2500ms, 3s, 6s, 6500ms]",
    }
    return Plan(
        "5L",
        says,
        classes,
        (80, 30, 30, 10, 10),
        1200,
        6,
        0.75,
        seconds=10.0,
        arrivals=arrivals,
        copies=4,
        shared=True,
        changes=changes,
    )


def _times(classes: Sequence[tuple[int, int, int]], factor: int) -> list[tuple[int, int, int]]:
    return [(factor * aggregates, factor * joins, factor * selects) for aggregates, joins, selects in classes]


def _cost(plan: Plan) -> int:
    """Nanoseconds of the cheapest operator, such that tuples alone keep the cores as busy as they are to be."""
    free = parse_workload(_text(plan, 1000, calls=False), file=plan.name)
    return round(1000 * plan.busy / offered_load(replace(free, changes=())))


def _text(plan: Plan, cost: int, *, calls: bool = True) -> str:
    seconds = plan.seconds or round(TUPLES / plan.rate, 2)
    head = table(
        "[workload]",
        name=f"almoakar-{plan.name}",
        duration=f"{seconds:g} s",
        cores=plan.cores,
        source_cores=None if plan.apart else 0,
        sources="rr" if plan.apart else "last",
        windows="end",
        noise=0.05,
        statistics="measured" if plan.changes else None,
        train="all",
    )
    classes = "".join(
        table("[[class]]", name=f"c{number}", priority=priority) for number, priority in enumerate(plan.priorities, 1)
    )
    same = f" at costs as in {plan.like}" if plan.like else ""
    chosen = CHOSEN.format(
        calls=CALLING,
        busy=plan.busy,
        same=f", about,{same}" if same else "",
        streams=TOGETHER if plan.together else COPIES if plan.copies > 1 else OWN,
        sources=f"{APART if plan.apart else ON_ONE} {READ}",
    )
    says = comment(f"Workload {plan.name} of Al Moakar 2013. {plan.says}\n\n{chosen}")
    changes = inline(plan.changes, "change") if plan.changes else ""
    return says + changes + head + _streams(plan, cost, calls) + classes + _queries(plan, cost, calls)


def _streams(plan: Plan, cost: int, calls: bool) -> str:
    parts = []
    for number, counts in enumerate(plan.classes, 1):
        arrivals = (plan.arrivals or {}).get(number, f"poisson, rate={plan.rate}")
        if plan.together and number > 1:
            break
        for kind, count in zip(KINDS, _inputs(plan, counts), strict=True):
            for name in _read_by(plan, number, kind):
                parts += [_stream(name, arrivals, cost, calls, count)] if count else []
        parts += [_stream(f"c{number}-shared", arrivals, cost, calls)] if plan.shared else []
    return "".join(parts)


def _stream(name: str, arrivals: str, cost: int, calls: bool, count: int | None = None) -> str:
    overhead = f"{round(CALLING * cost)} ns" if calls else None
    reading = {"source_cost": f"{cost} ns", "source_overhead": overhead}
    return table("[[stream]]", name=name, count=count, arrivals=arrivals, **reading)


def _inputs(plan: Plan, counts: Sequence[int]) -> list[int]:
    """For how many aggregates, joins and selects of a class there are streams."""
    return list(plan.together) or [-(-count // plan.copies) for count in counts]


def _read_by(plan: Plan, number: int, kind: str) -> list[str]:
    start = "" if plan.together else f"c{number}-"
    return [f"{start}left", f"{start}right"] if kind == "join" else [f"{start}{kind}-in"]


def _queries(plan: Plan, cost: int, calls: bool) -> str:
    parts = []
    for number, counts in enumerate(plan.classes, 1):
        for kind, count, inputs in zip(KINDS, counts, _inputs(plan, counts), strict=True):
            for start, size in _groups(number, kind, count, inputs):
                parts.append(_query(plan, number, kind, start, size, cost, calls))
    return "".join(parts) + (_shared(len(plan.classes), cost, calls) if plan.shared else "")


def _groups(number: int, kind: str, count: int, inputs: int) -> Iterator[tuple[str, int]]:
    """Queries that read different streams, and how their names begin: all, or several times as many as streams.

    >>> list(_groups(1, "join", 5, 2))
    [('c1-join-1-', 2), ('c1-join-2-', 2), ('c1-join-3-', 1)]
    """
    if count and count <= inputs:
        yield f"c{number}-{kind}", count
        return
    for place, first in enumerate(range(0, count, inputs or 1), 1):
        yield f"c{number}-{kind}-{place}-", min(inputs, count - first)


def _names(number: int, kind: str, count: int, inputs: int) -> list[str]:
    return [f"{start}{n}" for start, size in _groups(number, kind, count, inputs) for n in range(1, size + 1)]


def _query(plan: Plan, number: int, kind: str, name: str, count: int, cost: int, calls: bool) -> str:
    return table(
        "[[query]]",
        name=name,
        count=count,
        class_=f"c{number}",
        from_=[f"{stream}$number" for stream in _read_by(plan, number, kind)],
        draw=SHARE if kind == "select" else None,
        operators=[f"{operator}{_costs(units * cost, calls)}{more}" for operator, units, more in OPERATORS[kind]],
    )


def _costs(nanoseconds: int, calls: bool) -> str:
    return f", cost={nanoseconds}ns" + (f", overhead={round(CALLING * nanoseconds)}ns" if calls else "")


def _shared(classes: int, cost: int, calls: bool) -> str:
    """A union of one stream of each class and an except of two, used by a query in every class."""
    all_of_them = ", ".join(f"c{number}-shared" for number in range(1, classes + 1))
    union = f"union, name=everything, from=[{all_of_them}]{_costs(cost, calls)}"
    costs = f"{_costs(2 * cost, calls)}, selectivity=0.5, window=10ms"
    less = f"except, name=difference, from=[c1-shared, c2-shared]{costs}"
    return "".join(
        table("[[query]]", name=f"c{number}-{name}", class_=f"c{number}", operators=[shared])
        for number in range(1, classes + 1)
        for name, shared in (("union", union), ("except", less))
    )
