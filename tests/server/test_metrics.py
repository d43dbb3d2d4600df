"""Metrics: names and types stay, counters never go down, and values agree with the status."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from tests.server.conftest import no_engine, serving
from tests.server.http_client import Http

from headgate.server.access.open import OpenAccess
from headgate.server.settings import Limits

GRAFANA = Path(__file__).parents[2] / "docs" / "grafana.json"
NAMES = {
    "headgate_class_priority": "gauge",
    "headgate_commit_seconds": "histogram",
    "headgate_dead_letters": "gauge",
    "headgate_engine_state": "gauge",
    "headgate_late_tuples": "counter",
    "headgate_latency_seconds": "histogram",
    "headgate_oldest_wait_seconds": "gauge",
    "headgate_pushed_rows": "counter",
    "headgate_queries": "gauge",
    "headgate_request_seconds": "histogram",
    "headgate_requests": "counter",
    "headgate_run_members": "histogram",
    "headgate_run_seconds": "histogram",
    "headgate_runs": "counter",
    "headgate_runs_cancelled": "counter",
    "headgate_runs_failed": "counter",
    "headgate_scheduling_seconds": "counter",
    "headgate_sink_delay_seconds": "histogram",
    "headgate_skipped_tuples": "counter",
    "headgate_source_up": "gauge",
    "headgate_spark_jobs": "counter",
    "headgate_stream_rows": "counter",
    "headgate_targets": "gauge",
    "headgate_tuples_in": "counter",
    "headgate_tuples_out": "counter",
    "headgate_undelivered_bytes": "gauge",
    "headgate_waiting_tuples": "gauge",
    "headgate_workers": "gauge",
    "headgate_workers_busy": "gauge",
}
GROWS = ("_total", "_count", "_sum", "_bucket")
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scraped(http: Http) -> tuple[dict[str, str], Samples]:
    """The types of metrics by name, and all samples."""
    reply = http.get("/metrics")
    assert (reply.status, reply.headers["content-type"].split(";")[0]) == (200, "text/plain")
    families = list(text_string_to_metric_families(reply.body.decode()))
    samples = {
        (one.name, tuple(sorted(one.labels.items()))): one.value for family in families for one in family.samples
    }
    return {family.name: family.type for family in families}, samples


def work(http: Http, stream: str, rows: int) -> None:
    lines = "".join(f'{{"id": {row}}}\n' for row in range(rows))
    reply = http.post(f"/v1/streams/{stream}/rows", lines + '{"id": "x"}\n', kind="application/x-ndjson")
    assert reply.json == {"accepted": rows, "rejected": 1}
    deadline = time.monotonic() + 60
    while http.get("/v1/status").json["streams"][stream]["tuples"] and any(
        line["waiting"] or line["undelivered"] for line in http.get("/v1/status").json["classes"].values()
    ):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_names_and_types_stay_and_values_agree_with_the_status(http: Http) -> None:
    http.post("/v1/streams", {"name": "counted", "schema": "id bigint"})
    http.post("/v1/queries", {"name": "first", "sql": "SELECT id FROM counted", "target": "10 s"})
    work(http, "counted", 7)
    types, before = scraped(http)
    assert types == NAMES
    deadline = time.monotonic() + 60
    while True:  # a snapshot may be a moment old, and things go on
        status, (_, samples) = http.get("/v1/status").json, scraped(http)
        line = status["classes"]["default"]
        default = (("class", "default"),)
        found = {
            "runs": samples["headgate_runs_total", default] == status["runs"],
            "in": samples["headgate_tuples_in_total", default] == line["tuples_in"] == 7,
            "out": samples["headgate_tuples_out_total", default] == line["tuples_out"] == 7,
            "latency": samples["headgate_latency_seconds_count", default] == 7,
            "waiting": samples["headgate_waiting_tuples", default] == line["waiting"] == 0,
            "rows": samples["headgate_stream_rows_total", (("stream", "counted"),)] == 7,
            "letters": samples["headgate_dead_letters", (("stream", "counted"),)] == 1,
            "met": samples["headgate_targets", (("class", "default"), ("state", "met"))] == line["targets"]["met"],
        }
        if all(found.values()):
            break
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    assert samples["headgate_pushed_rows_total", (("outcome", "accepted"),)] == 7
    assert samples["headgate_engine_state", (("state", "ready"),)] == 1
    http.delete("/v1/queries/first")
    http.get("/v1/streams/there-is-none")
    http.get("/nowhere/at/all")
    after = scraped(http)[1]
    grown = {key: value for key, value in before.items() if key[0].endswith(GROWS)}
    assert all(after[key] >= value for key, value in grown.items())
    routes = {dict(labels)["route"] for name, labels in after if name == "headgate_requests_total"}
    assert "/v1/streams/{name}" in routes
    assert not any("there-is-none" in route or "nowhere" in route for route in routes)


def test_without_an_engine_there_are_its_state_and_the_requests() -> None:
    with serving(no_engine(), OpenAccess(), Limits()) as http:
        types, samples = scraped(http)
    assert set(types) == {
        "headgate_engine_state",
        "headgate_requests",
        "headgate_request_seconds",
        "headgate_pushed_rows",
    }
    assert samples["headgate_engine_state", (("state", "failed"),)] == 1


def test_the_dashboard_uses_only_metrics_that_exist() -> None:
    suffixes = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
    exist = {name + suffix for name, kind in NAMES.items() for suffix in suffixes[kind]}
    expressions = [
        target["expr"] for panel in json.loads(GRAFANA.read_text())["panels"] for target in panel.get("targets", ())
    ]
    used = {name for text in expressions for name in re.findall(r"headgate_\w+", text)}
    assert len(expressions) >= 10
    assert used <= exist
