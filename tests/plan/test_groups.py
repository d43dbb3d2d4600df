"""Groups of SQL queries: every query once, one form and one class each, and they stay as they are."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model import Level, Query, QueryClass, Stream
from headgate.plan.fusion import FULL, MOST, Fuse
from headgate.plan.fusion_template import template
from headgate.plan.network import Network
from headgate.plan.sql import plan_sql
from headgate.plan.units import units

STREAMS = {
    name: Stream(name=name, schema=(("id", "bigint"), ("v", "int"), ("ts", "timestamp")), event_time="ts")
    for name in ("a", "b")
}
_BOUND = "y.ts BETWEEN x.ts AND x.ts + INTERVAL {} SECONDS"
TEXTS = [
    "SELECT id FROM a WHERE v > {n}",
    "SELECT v + {n} AS n FROM b",
    "SELECT window.start AS t, count(*) AS n FROM a WHERE v > {n} GROUP BY window(ts, '4 seconds')",
    "SELECT window.start AS t, sum(v) AS n FROM a GROUP BY window(ts, '4 seconds') HAVING sum(v) > {n}",
    "SELECT window.start AS t, id, sum(v) AS n FROM a GROUP BY window(ts, '4 seconds'), id",
    f"SELECT x.id FROM a x JOIN b y ON x.id = y.id AND {_BOUND.format(1)} WHERE x.v > {{n}}",
    f"SELECT x.id FROM a x JOIN b y ON x.id = y.id AND {_BOUND.format(2)} WHERE x.v < y.v + {{n}}",
    "SELECT id FROM a WHERE v = {n} UNION ALL SELECT v FROM b",
]
drawn = st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(0, 3), st.sampled_from(["high", "low"])), max_size=12)


def network_of(questions: list[tuple[str, int, str]]) -> Network:
    queries = [
        Query(name=f"q{number}", query_class=known, plan=plan_sql(text.format(n=n), STREAMS), sql=text.format(n=n))
        for number, (text, n, known) in enumerate(questions)
    ]
    return Network.of(queries, STREAMS.values(), [QueryClass("high", 9.0), QueryClass("low")], share=False)


@settings(max_examples=40, deadline=None)
@given(drawn, st.sampled_from([Fuse.CLASS, Fuse.ALL]))
def test_every_query_is_in_one_group_of_its_form(questions: list[tuple[str, int, str]], fuse: Fuse) -> None:
    network = network_of(questions)
    found = units(network, Level.QUERY, fuse)
    assert sorted(name for unit in found for name in unit.queries) == sorted(network.queries)
    for unit in found:
        members = [network.queries[name] for name in unit.queries]
        templates = [template(query.plan) for query in members]
        if len(members) > 1:
            assert len({one and one.form for one in templates}) == 1
            assert None not in templates
            assert fuse is Fuse.ALL or len({query.query_class for query in members}) == 1
        assert unit.payer == network.payer(unit.queries)


@settings(max_examples=40, deadline=None)
@given(drawn.filter(bool), st.sampled_from([Fuse.CLASS, Fuse.ALL]))
def test_a_query_more_leaves_the_groups_as_they_are(questions: list[tuple[str, int, str]], fuse: Fuse) -> None:
    before = units(network_of(questions[:-1]), Level.QUERY, fuse)
    after = units(network_of(questions), Level.QUERY, fuse)
    fresh = f"q{len(questions) - 1}"
    assert [unit.queries for unit in before] == [
        kept for unit in after if (kept := tuple(name for name in unit.queries if name != fresh))
    ]


def test_a_group_has_no_more_members_than_a_long_has_bits() -> None:
    network = network_of([(TEXTS[0], n, "low") for n in range(MOST + 5)])
    assert [len(unit.queries) for unit in units(network, Level.QUERY, Fuse.ALL)] == [MOST, 5]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.0, 2.0), min_size=1, max_size=12))
def test_a_group_is_not_more_than_half_a_worker_can_do(loads: list[float]) -> None:
    network = network_of([(TEXTS[0], n, "low") for n in range(len(loads))])
    found = units(network, Level.QUERY, Fuse.ALL, lambda piece: loads[int(piece.queries[0][1:])])
    members = [[loads[int(name[1:])] for name in unit.queries] for unit in found]
    assert sorted(load for each in members for load in each) == sorted(loads)
    for each in members:
        assert len(each) == 1 or sum(each) <= FULL * 2**0.5  # loads are rounded to the nearest power of two
    for one, next_one in pairwise(members):
        assert sum(one) + next_one[0] > FULL / 2**0.5, "it would have had room in the group before"


def test_a_little_more_work_changes_no_group() -> None:
    network = network_of([(TEXTS[0], n, "low") for n in range(12)])
    before, after = (units(network, Level.QUERY, Fuse.ALL, lambda _, load=load: load) for load in (0.12, 0.13))  # type: ignore[misc]
    assert [unit.queries for unit in before] == [unit.queries for unit in after]
    assert len(before) == 3
