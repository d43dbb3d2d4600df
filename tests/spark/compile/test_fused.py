"""One job for many queries gives each what a job of its own would."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, Self, get_args

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.conftest import ALL
from tests.spark.compile.logs import MemoryLog, counted, of_stream, run_leaves
from tests.spark.compile.test_oracle import STREAMS, drawn_rows

from headgate.model import Union
from headgate.plan.fusion_template import Core, template
from headgate.plan.sql import plan_sql
from headgate.spark.compile.fused import Member, MemberResult, fuse, register, registry
from headgate.spark.compile.fused.registry import forms
from headgate.spark.compile.prepared_query import PreparedQuery, prepare_query
from headgate.spark.compile.schemas import arrow_schema

_JOIN = "FROM a x JOIN b y ON x.id = y.id AND y.ts BETWEEN x.ts - INTERVAL 3 SECONDS AND x.ts + INTERVAL 2 SECONDS"
_SELF = "FROM a x JOIN a y ON x.id = y.id AND y.ts BETWEEN x.ts AND x.ts + INTERVAL 2 SECONDS"
_SLIDE = "FROM a {} GROUP BY window(ts, '6 seconds', '2 seconds'), id"
GROUPS = {
    "rows": [
        "SELECT * FROM a",
        "SELECT id, v FROM a WHERE v > 1",
        "SELECT v / id AS part, upper(s) AS s FROM a WHERE id != 0 AND v > 0",
        "SELECT id FROM a WHERE s LIKE 'a%' OR v IN (1, 3)",
        "SELECT v + 1 AS next, ts FROM a WHERE id IS NULL",
    ],
    "tumbling": [
        "SELECT window.start AS t, count(*) AS n FROM a GROUP BY window(ts, '4 seconds')",
        "SELECT window.end AS t, sum(v) AS n FROM a WHERE id = 1 GROUP BY window(ts, '4 seconds')",
        "SELECT max(v) - min(v) AS n, window.start AS t FROM a WHERE v > 0 GROUP BY window(ts, '4 seconds') "
        "HAVING count(*) > 1",
        "SELECT window.start AS t, percentile(v, 0.5) AS n FROM a GROUP BY window(ts, '4 seconds')",
    ],
    "sliding": [
        f"SELECT window.start AS t, id, count(*) AS n {_SLIDE.format('')}",
        f"SELECT id, sum(v) AS n, window.end AS t {_SLIDE.format('WHERE v > 1')}",
        f"SELECT id, count(v) AS n, count(*) AS m {_SLIDE.format('')} HAVING sum(v) > 3",
    ],
    "join": [
        f"SELECT x.id, x.v, y.w {_JOIN}",
        f"SELECT x.v + y.w AS total, x.ts {_JOIN} WHERE x.v > 1 AND y.w > 0",
        f"SELECT y.id {_JOIN} WHERE x.v < y.w",
    ],
    "self-join": [
        f"SELECT x.id, x.v, y.v AS w {_SELF}",
        f"SELECT x.s, y.s AS other {_SELF} WHERE x.v > 1",
    ],
}

SEEDS = {"apart": (1, False), "alike": (3, True), **({"apart again": (2, False)} if ALL else {})}


def logs_of(seed: int) -> dict[str, MemoryLog]:
    random = Random(seed)
    return {name: of_stream(stream, arrow_schema(stream), drawn_rows(random, name)) for name, stream in STREAMS.items()}


def prepare_all(spark: SparkSession, texts: Sequence[str]) -> list[PreparedQuery]:
    return [prepare_query(spark, plan_sql(text, STREAMS, {}), STREAMS, {}) for text in texts]


@pytest.mark.parametrize(("name", "few"), [("rows", 0), *((name, 5_000) for name in GROUPS)])
@pytest.mark.parametrize(("seed", "alike"), SEEDS.values(), ids=SEEDS)
def test_each_member_gets_what_a_job_of_its_own_gives(
    spark: SparkSession, name: str, seed: int, alike: bool, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.spark.compile.fused.filters.FEW", few)
    members = prepare_all(spark, GROUPS[name])
    templates = [template(query.plan) for query in members]
    assert None not in templates
    assert len({parts.form for parts in templates if parts is not None}) == 1
    group = fuse(
        members[0].catalog, [Member(parts, query) for parts, query in zip(templates, members, strict=True) if parts]
    )
    logs, random = logs_of(seed), Random(seed)
    turns = []
    for query in members:  # at different offsets, unless alike
        random = Random(seed) if alike else random
        cuts = sorted(random.choices([0.0, 0.2, 0.4, 0.6, 0.9], k=3))
        turns.append(list(run_leaves(query.plan, logs, [[cut, min(1.0, cut + 0.05)] for cut in cuts])))
    compared = 0
    for leaves in zip(*turns, strict=True):
        for query, rows, own_leaves in zip(members, group.run(leaves, logs), leaves, strict=True):
            alone = query.run(own_leaves, logs).rows
            assert rows.schema.names == alone.schema.names
            assert counted(rows) == counted(alone)
            compared += alone.num_rows
    assert compared


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM a UNION ALL SELECT id FROM b",
        "SELECT n FROM (SELECT v + 1 AS n, s FROM a) WHERE n > 1 OR s = 'x' UNION ALL SELECT v FROM a",
        "SELECT window.start AS t, count(*) AS n FROM (SELECT v AS q, ts FROM a) GROUP BY window(ts, '4 seconds')",
    ],
)
def test_other_forms_stay_alone(text: str) -> None:
    assert template(plan_sql(text, STREAMS, {})) is None


def test_every_core_of_a_template_has_a_form() -> None:
    assert set(forms()) == set(get_args(Core))


def test_a_form_is_added_by_registering_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_FORMS", forms())
    parts: Any = SimpleNamespace(core=Union(inputs=()))
    nothing: Any = None
    catalog, member = nothing, Member(parts, nothing)

    @register(Union)
    class Unions:
        @classmethod
        def of(cls, catalog: Any, members: Sequence[Member]) -> Self:
            assert members == [member]
            return cls()

        def run(self, leaves: Any, logs: Any) -> list[pa.Table]:
            return []

        def run_isolating(self, leaves: Any, logs: Any) -> list[MemberResult]:
            return []

        def write(self, leaves: Any, logs: Any, aside: Path) -> None: ...

    assert isinstance(fuse(catalog, [member]), Unions)
    with pytest.raises(ValueError, match="already"):
        register(Union)(Unions)
