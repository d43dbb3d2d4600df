"""A plan cut into fragments: each comes after those whose results it reads, wherever these are made."""

from __future__ import annotations

from pyspark.sql import SparkSession
from tests.spark.compile.test_oracle import STREAMS

from headgate.model import Level, Query
from headgate.plan.sql import plan_sql
from headgate.spark.compile.fragments import PlanCutter
from headgate.spark.queries.layout import cut_places, fragment_log_name


def test_a_sub_plan_that_is_read_at_several_depths(spark: SparkSession) -> None:
    sql = (
        "WITH c AS (SELECT id, v FROM a WHERE v > 1) SELECT id FROM (SELECT id + 1 AS id FROM (SELECT id FROM c "
        "WHERE id > 0)) UNION ALL SELECT id FROM c UNION ALL SELECT v AS id FROM c"
    )
    query = Query(name="q", query_class="low", plan=plan_sql(sql, STREAMS), sql=sql)
    cuts, first_places = cut_places(query, STREAMS, Level.OPERATOR)
    cutter = PlanCutter(spark, STREAMS, {}, cuts, first_places, lambda place: fragment_log_name("q", 1, place))
    streams: set[str] = set(STREAMS)
    for fragment in cutter.fragments(query.plan):
        assert {source.stream for source in fragment.leaves.values()} <= streams
        streams |= {fragment.feeds.name} if fragment.feeds is not None else set()
    assert len(streams) > len(STREAMS) + 2
