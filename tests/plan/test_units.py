"""Units at every level: what they hold, and that they hold everything."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model import (
    Aggregate,
    Column,
    Join,
    Kind,
    Level,
    Operator,
    Project,
    Query,
    QueryClass,
    Select,
    Source,
    Split,
    Stream,
    Unit,
    Window,
)
from headgate.model import Union as Merge
from headgate.plan.fusion import STATELESS, Fuse
from headgate.plan.network import Network
from headgate.plan.units import units

CLASSES = [QueryClass("high", 9.0), QueryClass("low", 1.0)]
STREAMS = [Stream(name=name) for name in "st"]


def select(below: Operator | Source | str = "s", name: str | None = None) -> Select:
    return Select(inputs=(Source(below) if isinstance(below, str) else below,), name=name)


def aggregate(size: float = 5.0, *keys: str) -> Aggregate:
    return Aggregate(inputs=(select(),), window=Window(size), keys=tuple(Column(key, key) for key in keys))


def join(reach: float = 1.0, left: Operator | None = None) -> Join:
    return Join(inputs=(left or Source("s"), Source("t")), lower=-reach, upper=reach)


FORK = Split(inputs=(Source("s"),), name="fork")
HOT = select(name="hot")
PLANS: dict[str, tuple[Operator, str]] = {
    "one": (select(), "high"),
    "two": (select(select()), "low"),
    "three": (Project(inputs=(select(select()),)), "high"),
    "other": (select("t"), "high"),
    "left": (select(HOT), "low"),
    "right": (Project(inputs=(HOT,)), "high"),
    "end": (HOT, "low"),
    "tree": (Project(inputs=(join(left=select()),)), "high"),
    "bare": (join(), "high"),
    "bare-too": (join(), "low"),
    "wide": (join(2.0), "high"),
    "deep": (join(left=join()), "high"),
    "sum": (aggregate(), "high"),
    "sum-too": (aggregate(), "low"),
    "sum-long": (aggregate(9.0), "high"),
    "sum-by": (aggregate(5.0, "room"), "high"),
    "all": (Merge(inputs=(select(), Source("t"))), "low"),
    "forked": (Merge(inputs=(select(FORK, "x"), select(FORK, "y"))), "low"),
}
QUERIES = {name: Query(name=name, query_class=of, plan=plan) for name, (plan, of) in PLANS.items()}
Chosen = st.lists(st.sampled_from(sorted(QUERIES)), min_size=1, unique=True)


def network(*names: str) -> Network:
    return Network.of([QUERIES[name] for name in names or QUERIES], STREAMS, CLASSES)


def named(*names: str, level: Level, fuse: Fuse = Fuse.OFF) -> list[str]:
    return [str(unit) for unit in units(network(*names), level, fuse)]


def well_formed(found: Network, unit: Unit) -> None:
    """A connected piece in post-order; entries are the queues that are fed from outside."""
    assert len(set(unit.calls)) == len(unit.calls)
    assert len(set(unit.queues)) == len(unit.queues)
    place = {call: position for position, call in enumerate(unit.calls)}
    for queue in unit.queues:
        edge = found.edges[queue]
        assert edge.operator in place
        if edge.producer in place:
            assert place[edge.producer] < place[edge.operator]
    entries = [queue for entry in unit.entries for queue in entry]
    assert list(unit.queues[: len(entries)]) == entries
    assert set(entries) == {queue for queue in unit.queues if found.edges[queue].producer not in place}
    assert set(unit.queries) <= {name for call in unit.calls for name in found.nodes[call].queries}
    assert unit.payer == found.payer(unit.queries)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(Chosen, st.sampled_from([Level.OPERATOR, Level.SEGMENT, Level.PATH, Level.QUERY]), st.sampled_from(list(Fuse)))
def test_every_operator_and_every_queue_is_covered(names: list[str], level: Level, fuse: Fuse) -> None:
    found = network(*names)
    made = units(found, level, fuse)
    assert [unit.id for unit in made] == list(range(len(made)))
    for unit in made:
        well_formed(found, unit)
    assert {call for unit in made for call in unit.calls} == set(found.nodes)
    assert {queue for unit in made for queue in unit.queues} == set(found.edges)
    if level is not Level.PATH:  # paths may have operators in common; nothing else has
        assert max(Counter(call for unit in made for call in unit.calls).values()) == 1
        assert max(Counter(queue for unit in made for queue in unit.queues).values()) == 1


@settings(max_examples=60, deadline=None, derandomize=True)
@given(Chosen, st.sampled_from(list(Fuse)))
def test_queries_and_shared_sets_cover_every_query_once(names: list[str], fuse: Fuse) -> None:
    found = network(*names)
    made = units(found, Level.QUERY, fuse)
    assert sorted(name for unit in made for name in unit.queries) == sorted(names)
    for unit in made:
        alone = [other for other in made if other is not unit]
        assert not any(set(unit.calls) & set(other.calls) for other in alone)
        if unit.level is Level.QUERY:
            assert len(unit.queries) == 1
        elif unit.level is Level.SHARED:
            assert len(unit.queries) > 1


@settings(max_examples=60, deadline=None, derandomize=True)
@given(Chosen)
def test_a_path_leads_from_a_stream_to_the_results(names: list[str]) -> None:
    found = network(*names)
    for unit in units(found, Level.PATH):
        (name,) = unit.queries
        assert found.edges[unit.queues[0]].stream is not None
        assert name in found.nodes[unit.calls[-1]].emits
        for call, queue in zip(unit.calls, unit.queues, strict=True):
            assert found.edges[queue].operator == call
        for call, following in pairwise(unit.queues):
            assert found.edges[following].producer == found.edges[call].operator


@settings(max_examples=60, deadline=None, derandomize=True)
@given(Chosen)
def test_a_segment_has_neither_fork_nor_join_inside(names: list[str]) -> None:
    found = network(*names)
    for unit in units(found, Level.SEGMENT):
        nodes = [found.nodes[call] for call in unit.calls]
        for node, following in pairwise(nodes):
            assert node.consumers == following.queues
            assert not node.emits
        after = [found.nodes[found.edges[queue].operator] for queue in nodes[-1].consumers]
        if len(after) == 1 and not nodes[-1].emits:
            assert len(after[0].queues) > 1  # else it would go on


def test_operators() -> None:
    assert named("two", "right", level=Level.OPERATOR) == ["two.select-0", "two.select-1", "hot", "right.project-3"]
    assert [unit.depth for unit in units(network("three"), Level.OPERATOR)] == [0, 1, 2]


def test_segments() -> None:
    found = network("three", "left", "right", "tree")
    assert [len(unit.calls) for unit in units(found, Level.SEGMENT)] == [3, 1, 1, 1, 1, 2]


def test_a_join_has_one_path_per_input() -> None:
    left, right = units(network("tree"), Level.PATH)
    assert (left.calls, right.calls) == ((0, 1, 2), (1, 2))
    assert len(units(network("deep"), Level.PATH)) == 3
    assert len(units(network("all"), Level.PATH)) == 2


def test_a_fork_has_one_path_per_branch() -> None:
    first, second = units(network("forked"), Level.PATH)
    assert first.queues[0] == second.queues[0]
    assert len(set(first.calls) & set(second.calls)) == 2  # the fork and the union


def test_queries_that_share_an_operator_are_one_set() -> None:
    made = units(network("one", "left", "right", "end"), Level.QUERY)
    assert [(str(unit), unit.level, unit.payer) for unit in made] == [
        ("one", Level.QUERY, "high"),
        ("left+right+end", Level.SHARED, "high"),
    ]


def test_sets_grow_through_others() -> None:
    queries = [
        Query(name="a", query_class="low", plan=select(select(name="x"), name="top-a")),
        Query(name="b", query_class="low", plan=select("t", name="y")),
        Query(name="c", query_class="low", plan=Merge(inputs=(select(name="x"), select("t", name="y")))),
    ]
    (unit,) = units(Network.of(queries, STREAMS, CLASSES), Level.QUERY)
    assert unit.queries == ("a", "b", "c")


def shape(found: Network, unit: Unit) -> set[object]:
    """What the members of a group have in common, by hand: streams, and the one operator that keeps a window."""
    shapes: set[object] = set()
    for name in unit.queries:
        nodes = found.nodes_of(name)
        reads = {edge.stream for node in nodes for edge in map(found.edges.__getitem__, node.queues) if edge.stream}
        kept: list[object] = []
        for node in nodes:
            operator = node.operator
            if isinstance(operator, Aggregate):
                kept.append((operator.window, operator.keys))
            elif isinstance(operator, Join):
                kept.append((operator.lower, operator.upper))
            elif operator.kind not in STATELESS:
                kept.append(operator.kind)
        shapes.add((frozenset(reads), tuple(kept)))
    return shapes


@settings(max_examples=80, deadline=None, derandomize=True)
@given(Chosen, st.sampled_from([Fuse.CLASS, Fuse.ALL]))
def test_a_group_has_one_shape_and_one_class(names: list[str], fuse: Fuse) -> None:
    found = network(*names)
    made = units(found, Level.QUERY, fuse)
    for unit in made:
        if unit.level is Level.GROUP:
            assert len(shape(found, unit)) == 1
            assert len(unit.entries) > 1
            kinds = {found.nodes[call].operator.kind for call in unit.calls}
            assert not kinds & {Kind.UNION, Kind.EXCEPT}
            if fuse is Fuse.CLASS:
                pieces = units(found, Level.QUERY)
                payers = {piece.payer for piece in pieces if set(piece.queries) <= set(unit.queries)}
                assert payers == {unit.payer}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(Chosen, st.sampled_from(list(Fuse)))
def test_grouping_is_stable(names: list[str], fuse: Fuse) -> None:
    def told(found: Network) -> list[tuple[object, ...]]:
        made = units(found, Level.QUERY, fuse)
        return [(unit.id, unit.level, unit.calls, unit.queues, unit.entries, unit.queries) for unit in made]

    assert told(network(*names)) == told(network(*names))


@pytest.mark.parametrize(
    ("fuse", "expected"),
    [
        (Fuse.OFF, [["one"], ["two"], ["three"], ["other"], ["bare"], ["bare-too"], ["wide"]]),
        (Fuse.CLASS, [["one", "three"], ["two"], ["other"], ["bare"], ["bare-too"], ["wide"]]),
        (Fuse.ALL, [["one", "two", "three"], ["other"], ["bare", "bare-too"], ["wide"]]),
    ],
)
def test_groups(fuse: Fuse, expected: list[list[str]]) -> None:
    made = units(network("one", "two", "three", "other", "bare", "bare-too", "wide"), Level.QUERY, fuse)
    assert [list(unit.queries) for unit in made] == expected


def test_aggregates_group_by_window_and_keys() -> None:
    made = units(network("sum", "sum-too", "sum-long", "sum-by"), Level.QUERY, Fuse.ALL)
    assert [list(unit.queries) for unit in made] == [["sum", "sum-too"], ["sum-long"], ["sum-by"]]


def test_a_group_is_paid_by_its_highest_class() -> None:
    (unit,) = units(network("two", "one"), Level.QUERY, Fuse.ALL)
    assert (unit.payer, unit.level, str(unit)) == ("high", Level.GROUP, "two…one (2 queries)")
    assert unit.entries == ((0,), (2,))


def test_fusion_leaves_finer_levels_alone() -> None:
    for level in (Level.OPERATOR, Level.SEGMENT, Level.PATH):
        assert named(level=level, fuse=Fuse.ALL) == named(level=level)
