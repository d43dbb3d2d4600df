"""Dry runs, live plans, why, decisions, what-if and the trace of a server that runs queries."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import Serve
from tests.server.http_client import Http, Reply

from headgate import Client
from headgate.cli.history_source import read_source
from headgate.server.access.roles import LOCAL, Principal, Role

READINGS = {"name": "readings", "schema": "id bigint, v double"}
ROUNDS = 14


class ByHeader:
    """Whoever sends a header is of that tenant; else the local operator."""

    def principal(self, request: Any, needed: Role) -> Principal:
        tenant = request.headers.get("x-tenant", "")
        return Principal(tenant, Role.OPERATE, tenant) if tenant else LOCAL


def until(ask: Callable[[], Reply], true: Callable[[Reply], bool], seconds: float = 60.0) -> Reply:
    deadline = time.monotonic() + seconds
    while not true(reply := ask()):
        assert time.monotonic() < deadline, reply.body
        time.sleep(0.05)
    return reply


def fill(http: Http, query: str) -> None:
    """Two queries, and some runs of them, one after the other."""
    assert http.post("/v1/streams", READINGS).status == 201
    for number, name in enumerate((query, f"{query}-other")):
        asked = {"name": name, "sql": f"SELECT id FROM readings WHERE v > {number}"}
        assert http.post("/v1/queries", asked).status == 201
    for number in range(1, ROUNDS):
        rows = "".join(f'{{"id": {row}, "v": 2.5}}\n' for row in range(5))
        assert http.post("/v1/streams/readings/rows", rows, kind="application/x-ndjson").status == 200
        until(lambda: http.get(f"/v1/queries/{query}"), lambda reply: reply.json["tuples_in"] == 5 * number)  # noqa: B023


@pytest.fixture(scope="module")
def filled(serve: Serve) -> Http:
    http = serve(access=ByHeader())
    fill(http, "high")
    fill(Http(http.port, {"x-tenant": "acme"}), "secret")
    return http


def test_a_dry_run_tells_what_would_be_and_leaves_nothing(filled: Http) -> None:
    before = filled.get("/v1/queries").json, filled.get("/v1/classes").json
    told = filled.post("/v1/queries?dry_run=true", {"name": "new", "sql": "SELECT id FROM readings WHERE v > 9"})
    assert told.status == 200, told.body
    body = told.json
    assert [column["name"] for column in body["columns"]] == ["id"]
    assert (body["form"], body["group"]) == ("rows", ["high", "high-other"])
    assert (body["plan"]["kind"], body["plan"]["inputs"][0]["inputs"][0]["kind"]) == ("project", "stream")
    assert body["cost"]["seconds_per_run"] > 0
    assert body["slows"] is not None or body["slows_reason"]
    after = filled.get("/v1/queries").json, filled.get("/v1/classes").json
    assert [[line["name"] for line in part["items"]] for part in after] == [
        [line["name"] for line in part["items"]] for part in before
    ]
    assert filled.get("/v1/queries/new").status == 404


def test_a_dry_run_without_what_if_tells_the_rest(filled: Http) -> None:
    new = {"name": "new", "sql": "SELECT id FROM readings WHERE v > 9"}
    whole = filled.post("/v1/queries?dry_run=true", new).json
    quick = filled.post("/v1/queries?dry_run=true&slows=false", new).json
    assert (quick.pop("slows"), quick.pop("slows_reason")) == (None, "it was not asked for")
    assert quick.keys() == whole.keys() - {"slows", "slows_reason"}
    assert (quick["plan"], quick["group"], quick["columns"]) == (whole["plan"], whole["group"], whole["columns"])


def test_a_dry_run_is_refused_as_the_query_would_be(filled: Http) -> None:
    for wrong in ({"sql": "SELECT nope FROM readings"}, {"class": "none"}, {"sink": "nowhere"}, {"name": "high"}):
        asked = {"name": "wrong", "sql": "SELECT id FROM readings", **wrong}
        dry, real = (filled.post(f"/v1/queries{option}", asked) for option in ("?dry_run=true", ""))
        assert (dry.status, dry.json) == (real.status, real.json), wrong


def test_the_live_plan_has_rates_costs_and_who_shares_it(filled: Http) -> None:
    told = filled.get("/v1/queries/high").json
    root = told["plan"]
    assert root["covers"] == ["root", "0"]
    assert root["cost"] is not None
    assert root["selectivity"] == pytest.approx(1.0)
    stream = root["inputs"][0]["inputs"][0]
    assert (stream["kind"], stream["text"], stream["shared_with"]) == ("stream", "readings", ["high-other"])
    assert sorted(told["group"]) == ["high", "high-other"]


def test_why_decisions_and_inversions_answer(filled: Http) -> None:
    worst = filled.get("/v1/queries/high/why").json
    assert worst["query"] == "high"
    assert sum(worst["parts"].values()) == pytest.approx(worst["seconds"])
    assert worst["means"]["results"] == 5 * (ROUNDS - 1)
    assert sum(worst["means"]["parts"].values()) == pytest.approx(worst["means"]["seconds"])
    assert filled.get("/v1/queries/high/why?last=true").json["sentence"]
    assert filled.get("/v1/queries/high/why?at=1e9%20s").status == 422
    assert filled.get("/v1/queries/nothing/why").status == 404
    first = filled.get("/v1/decisions?limit=3").json
    rest = filled.get(f"/v1/decisions?limit=1000&cursor={first['next']}").json
    times = [one["at"] for one in first["items"] + rest["items"]]
    assert times == sorted(times, reverse=True)
    assert len(times) >= ROUNDS - 1
    assert {"winner", "worker", "runner_up", "numbers", "waited"} <= first["items"][0].keys()
    assert filled.get("/v1/decisions?cursor=x").status == 422
    assert filled.get("/v1/inversions?over=1%20min").json["inversions"] == []
    assert filled.get("/v1/starvation").status == 200


def test_runs_and_their_decisions_answer(filled: Http) -> None:
    told = filled.get("/v1/runs?since=600").json
    mine = [one for one in told["runs"] if one["unit"].startswith("high")]
    assert len(mine) >= ROUNDS - 1
    assert {one["state"] for one in mine} == {"done"}
    assert all(one["oldest"] <= one["began"] <= one["ended"] <= told["at"] for one in mine)
    assert (told["workers"], told["from"] <= told["runs"][0]["began"]) == (2, True)
    assert told["from"] < told["at"]
    later = filled.get(f"/v1/runs?cursor={told['next']}").json["runs"]
    assert {one["id"] for one in later}.isdisjoint(one["id"] for one in told["runs"])
    one = filled.get(f"/v1/decisions/{mine[-1]['id']}").json
    assert (one["run"], one["at"]) == (mine[-1]["id"], pytest.approx(mine[-1]["began"]))
    assert one["sentence"].startswith(f"decision {one['decision']} by ")
    assert filled.get(f"/v1/decisions/{one['decision']}?by=decision").json["decision"] == one["decision"]
    assert filled.get("/v1/decisions/999999").status == 404


def test_latencies_over_time_answer(filled: Http) -> None:
    told = filled.get("/v1/queries/high/latency?step=600").json
    assert sum(told["results"]) == 5 * (ROUNDS - 1)
    assert {len(told[name]) for name in ("at", "results", "p50", "p95", "max", "mean")} == {len(told["at"])}
    for place, count in enumerate(told["results"]):
        parts = [part[place] for part in told["parts"].values()]
        assert sum(parts) == pytest.approx(told["mean"][place]) if count else parts == [None] * 5
    assert filled.get("/v1/queries/nothing/latency").status == 404
    with Client(f"http://127.0.0.1:{filled.port}") as client:
        assert sum(client.queries["high"].latency(over="10 min", step=600).results) == 5 * (ROUNDS - 1)


def test_latencies_of_all_answer_and_go_on(filled: Http) -> None:
    first = until(lambda: filled.get("/v1/latencies"), lambda reply: "default" in reply.json["classes"]).json
    assert first["classes"]["default"].keys() == {"p50", "p95", "waiting", "rate"}
    curves = [*first["queries"].values(), *first["classes"]["default"].values()]
    assert {len(curve) for curve in curves} == {len(first["at"])}
    later = filled.get(f"/v1/latencies?after={first['at'][-1]}").json
    assert all(at > first["at"][-1] for at in later["at"])


@pytest.mark.parametrize(
    "path",
    [
        "/v1/runs?since=601",
        "/v1/runs?since=nan",
        "/v1/runs?cursor=x",
        "/v1/decisions/zero",
        "/v1/decisions/0",
        "/v1/decisions/1?by=name",
        "/v1/queries/high/latency?over=0",
        "/v1/queries/high/latency?step=0.1",
        "/v1/latencies?after=soon",
    ],
)
def test_wrong_questions_are_refused_in_one_line(filled: Http, path: str) -> None:
    reply = filled.get(path)
    assert reply.status == 422
    assert "\n" not in reply.json["detail"]


def test_what_if_answers_with_its_error_and_previews_say_who_gains(filled: Http) -> None:
    told = filled.post("/v1/what-if", {"policies": ["fcfs"], "workers": 4})
    assert told.status == 200, told.body
    assert told.json["ranking"] == ["fcfs"]
    assert told.json["error"].keys() == told.json["recorded"]["classes"].keys()
    preview = filled.post("/v1/policy/preview", {"policy": "fcfs", "priorities": {"default": 5}})
    assert preview.status == 200, preview.body
    assert preview.json["classes"]["default"]["effect"] in ("gains", "loses", "within the error")
    lately = filled.post("/v1/policy/preview", {"policy": "fcfs", "last": 600})
    assert lately.json["classes"].keys() == preview.json["classes"].keys()
    assert filled.post("/v1/what-if", {}).status == 422
    assert filled.post("/v1/what-if", {"policies": ["./mine.py:Mine"]}).status == 422


def test_the_trace_is_a_file_that_why_reads(filled: Http, tmp_path: Path) -> None:
    got = filled.get("/v1/trace")
    assert got.status == 200
    path = tmp_path / "trace.jsonl"
    path.write_bytes(got.body)
    assert len(read_source(path).runs) >= ROUNDS - 1


def test_a_tenant_is_told_nothing_of_others(filled: Http) -> None:
    rival = Http(filled.port, {"x-tenant": "zephyr"})
    fill(rival, "mine")
    until(lambda: rival.get("/v1/queries/mine/why"), lambda reply: reply.status == 200)  # the record has it by now
    paths = [
        "/v1/queries/mine",
        "/v1/queries/mine/why",
        "/v1/decisions",
        "/v1/inversions",
        "/v1/starvation",
        "/v1/runs?since=600",
        "/v1/queries/mine/latency",
        "/v1/latencies",
        "/metrics",
    ]
    answers = {path: rival.get(path) for path in paths}
    for run in answers["/v1/runs?since=600"].json["runs"]:
        answers[run["unit"]] = rival.get(f"/v1/decisions/{run['id']}")
    answers["dry run"] = rival.post("/v1/queries?dry_run=true", {"name": "new", "sql": "SELECT id FROM readings"})
    for path, reply in answers.items():
        assert reply.status == 200, (path, reply.body)
        for marker in (b"secret", b"acme", b"high", b"zephyr"):
            assert marker not in reply.body, (path, marker)
    taken = f'headgate_tuples_in_total{{class="default"}} {2 * 5 * (ROUNDS - 1):.1f}\n'  # by its two queries
    until(lambda: rival.get("/metrics"), lambda reply: taken in reply.body.decode())
    assert answers["dry run"].json["slows"] is None
    assert rival.get("/v1/queries/high/why").status == 404
    for path in ("/v1/trace",):
        assert rival.get(path).status == 403
    for path in ("/v1/what-if", "/v1/policy/preview"):
        assert rival.post(path, {}).status == 403


def test_answers_are_json_without_surprises(filled: Http) -> None:
    more = ("/v1/runs?since=600", "/v1/queries/high/latency", "/v1/latencies")
    for path in ("/v1/queries/high/why", "/v1/decisions", "/v1/inversions", "/v1/starvation", "/v1/policy", *more):
        json.loads(filled.get(path).body, parse_constant=lambda name: pytest.fail(f"{path} has {name}"))  # noqa: B023
