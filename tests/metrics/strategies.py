"""Arbitrary small records."""

from hypothesis import strategies as st

from headgate.metrics import QueryRecords, Records
from headgate.model import QoS

times = st.integers(0, 400).map(lambda ticks: ticks / 64)  # exact, so that both ways of adding agree
graphs = st.none() | st.just(QoS.of([[0.0, 1.0], [0.5, 1.0], [2.0, 0.0]]))


@st.composite
def queries(draw: st.DrawFn, name: str) -> QueryRecords:
    moves = draw(st.lists(st.tuples(times, st.sampled_from("xyz")), min_size=1, max_size=3))
    record = QueryRecords(name, draw(st.sampled_from([0.25, 1.0])), draw(graphs), sorted(moves))
    results = draw(st.lists(st.tuples(times, times), max_size=25))
    for emission, wait in sorted((arrival + wait, wait) for arrival, wait in results):
        record.arrival.append(emission - wait)
        record.emission.append(emission)
    return record


any_records = st.tuples(queries("a"), queries("b"), queries("c")).flatmap(
    lambda found: st.fixed_dictionaries({name: st.sampled_from([1.0, 2.0, 5.0]) for name in "xyz"}).map(
        lambda priorities: Records(list(found), priorities, seconds=8.0)
    )
)
