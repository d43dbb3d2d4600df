"""A trace carries the targets of queries and classes."""

from __future__ import annotations

from io import StringIO

from headgate.core.trace import RecordingScheduler
from headgate.model import Query, QueryClass, Select, Source, Stream, Target
from headgate.model.codec import from_plain, to_plain
from headgate.plan.network import Network

PLAN = Select(inputs=(Source("s"),))


def test_what_the_codec_writes_it_reads() -> None:
    own = Query(name="q", query_class="c", plan=PLAN, target=Target(2.0, 99.0, 0.2))
    of_class = QueryClass("c", target=Target(0.5))
    assert (from_plain(to_plain(own)), from_plain(to_plain(of_class))) == (own, of_class)


def test_a_recorded_run_has_them() -> None:
    query = Query(name="q", query_class="c", plan=PLAN, target=Target(2.0, 99.0))
    network = Network.of([query], [Stream(name="s")], [QueryClass("c", target=Target(0.5))])
    lines = StringIO()
    RecordingScheduler(network, "fcfs", write=lines.write)
    assert '"target":' in lines.getvalue().replace(" ", "")
    assert '"percentile":99.0' in lines.getvalue().replace(" ", "")
