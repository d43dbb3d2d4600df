"""Queries over HTTP: lists with filters and sorting, descriptions, steering, versions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.http_client import Http, until


@pytest.fixture(scope="module")
def plant(http: Http) -> Http:
    """A server with a stream, classes and some queries over it."""
    http.post("/v1/streams", {"name": "q_readings", "schema": "id bigint, v double"})
    http.post("/v1/classes", {"name": "q.high", "priority": 60})
    http.post("/v1/classes", {"name": "q.low", "priority": 10, "target": "5 s"})
    for number in range(4):
        asked: dict[str, Any] = {"name": f"q.{number}", "sql": f"SELECT id FROM q_readings WHERE v > {number}"}
        made = http.post("/v1/queries", {**asked, "class": "q.low" if number else "q.high"})
        assert made.status == 201, made.body
    http.lines("q_readings", [{"id": number, "v": number + 0.5} for number in range(4)])
    counts = {f"q.{number}": 4 - number for number in range(4)}
    until(
        lambda: http.get("/v1/queries?q=q_readings"),
        lambda reply: {line["name"]: line["tuples_out"] for line in reply.json["items"]} == counts,
    )
    return http


def names(http: Http, options: str) -> list[str]:
    reply = http.get(f"/v1/queries?q=q_readings&{options}")
    assert reply.status == 200, reply.body
    return [item["name"] for item in reply.json["items"]]


def test_lists_are_filtered_and_sorted(plant: Http) -> None:
    assert names(plant, "") == ["q.0", "q.1", "q.2", "q.3"]
    assert names(plant, "sort=-name") == ["q.3", "q.2", "q.1", "q.0"]
    assert names(plant, "class=q.high") == ["q.0"]
    assert names(plant, "state=paused") == []
    assert names(plant, "sort=-tuples_out") == ["q.0", "q.1", "q.2", "q.3"]
    assert names(plant, "sort=tuples_out") == ["q.3", "q.2", "q.1", "q.0"]
    assert names(plant, "sort=-priority&limit=1") == ["q.0"]
    refused = plant.get("/v1/queries?sort=colour")
    assert (refused.status, "unknown order 'colour'" in refused.json["detail"]) == (422, True)


def test_a_list_has_numbers(plant: Http) -> None:
    (line,) = plant.get("/v1/queries?q=q_readings&class=q.high").json["items"]
    assert (line["state"], line["tuples_in"], line["tuples_out"], line["waiting"]) == ("running", 4, 4, 0)
    assert line["latency"]["last_10_minutes"]["count"] == 4
    assert line["latency"]["last_10_minutes"]["p95"] > 0
    low = plant.get("/v1/queries?q=q_readings&class=q.low&limit=1").json["items"][0]
    assert low["target_status"]["state"] in ("met", "missed", "no results")


def test_a_cursor_of_another_order_is_refused(plant: Http) -> None:
    after = plant.get("/v1/queries?limit=1&sort=-tuples_out").json["next"]
    assert plant.get(f"/v1/queries?limit=1&sort=-tuples_out&cursor={after}").status == 200
    assert plant.get(f"/v1/queries?limit=1&cursor={after}").status == 422


def test_a_description_has_everything(plant: Http) -> None:
    found = plant.get("/v1/queries/q.0").json
    assert found["columns"] == [{"name": "id", "type": "int64"}]
    assert found["streams"] == ["q_readings"]
    assert "select" in str(found["plan"])
    assert [line["to"] for line in found["journal"]][-1] == "checking"
    assert {"since", "once", "lag", "qos", "latency", "response_time", "where_its_time_goes"} <= found.keys()
    assert plant.get("/v1/queries/q.9").json["detail"].startswith("unknown query 'q.9'; did you mean 'q.")


def test_a_query_is_paused_moved_replaced_and_removed(plant: Http) -> None:
    asked = {"name": "q.steered", "sql": "SELECT id FROM q_readings WHERE v > 100", "class": "q.low"}
    made = plant.post("/v1/queries", asked)
    tag = made.headers["etag"]
    assert plant.post("/v1/queries/q.steered/pause").json == {"done": True}
    assert plant.get("/v1/queries/q.steered").json["state"] == "paused"
    assert plant.post("/v1/queries/q.steered/resume").status == 200
    moved = plant.post("/v1/queries/q.steered/move", {"class": "q.high"}, headers={"If-Match": tag})
    assert moved.status == 200
    stale = plant.post("/v1/queries/q.steered/replace", {"sql": asked["sql"]}, headers={"If-Match": tag})
    assert (stale.status, "has changed" in stale.json["detail"]) == (412, True)
    assert plant.post("/v1/queries/q.steered/move", {"class": "nothing"}).status == 422
    assert plant.post("/v1/queries/q.steered/replace", {"sql": "SELECT v FROM q_readings"}).status in (409, 422)
    assert plant.post("/v1/queries/q.steered/replace", {"sql": "SELECT id FROM q_readings"}).status == 200
    assert plant.get("/v1/queries/q.steered").json["sql"] == "SELECT id FROM q_readings"
    assert plant.get("/v1/queries/q.steered").json["class"] == "q.high"
    assert plant.delete("/v1/queries/q.steered").status == 200
    assert plant.delete("/v1/queries/q.steered").status == 404
    assert "q.steered" not in names(plant, "")


def test_what_is_wrong_with_a_query_is_said(plant: Http) -> None:
    good = {"name": "q.wrong", "sql": "SELECT id FROM q_readings"}
    wrong: list[dict[str, Any]] = [
        {**good, "sql": "SELECT"},
        {**good, "sql": "DROP TABLE x"},
        {**good, "class": "nothing"},
        {**good, "sink": "carrier pigeon"},
        {**good, "target": "soon"},
        {**good, "qos": [[0, 1], [-1, 2]]},
        {**good, "qos": [["a", 1]]},
        {**good, "since": "yesterday"},
        {**good, "start": -1},
        {**good, "lag": "skip"},
        {**good, "name": "a/b..c"},
        {**good, "once": "perhaps"},
    ]
    for body in wrong:
        refused = plant.post("/v1/queries", body)
        assert refused.status == 422, (body, refused.body)
        assert refused.json["detail"]
    assert plant.get("/v1/queries/q.wrong").status == 404
    plant.post("/v1/queries", good)
    assert plant.post("/v1/queries", {**good, "sql": "SELECT id FROM q_readings WHERE v > 1"}).status == 409


def test_the_journal_is_read_page_by_page(plant: Http) -> None:
    whole = plant.get("/v1/journal?query=q.0&limit=1000").json["items"]
    assert [line["at"] for line in whole] == sorted((line["at"] for line in whole), reverse=True)
    found, after = [], ""
    for _ in range(len(whole)):
        page = plant.get(f"/v1/journal?query=q.0&limit=1{after}").json
        found += page["items"]
        after = f"&cursor={page['next']}"
    assert (found, page["next"]) == (whole, None)
    assert plant.get("/v1/journal?cursor=nonsense").status == 422


def test_classes_are_changed_and_removed(plant: Http) -> None:
    made = plant.post("/v1/classes", {"name": "q.changed", "priority": 5, "lag": "skip, tuples=1000"})
    changed = plant.patch("/v1/classes/q.changed", {"priority": 7}, headers={"If-Match": made.headers["etag"]})
    assert (changed.status, changed.json["priority"], changed.json["lag"]) == (200, 7, "skip, tuples=1000")
    stale = plant.patch("/v1/classes/q.changed", {"priority": 8}, headers={"If-Match": made.headers["etag"]})
    assert stale.status == 412
    assert plant.patch("/v1/classes/q.changed", {"lag": None, "target": "p99 2 s"}).json["lag"] is None
    assert plant.patch("/v1/classes/q.changed", {}).status == 422
    assert plant.patch("/v1/classes/q.changed", {"priority": -1}).status == 422
    assert plant.patch("/v1/classes/nothing", {"priority": 1}).status == 404
    assert plant.delete("/v1/classes/q.low").status == 409
    assert plant.delete("/v1/classes/q.changed").status == 200
    assert plant.get("/v1/classes/q.changed").status == 404
    priorities = [made["priority"] for made in plant.get("/v1/classes").json["items"]]
    assert priorities == sorted(priorities, reverse=True)


def test_tables_are_registered_refreshed_and_removed(plant: Http, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("tables") / "halls.csv"
    path.write_text("id,hall\n1,north\n")
    made = plant.post("/v1/tables", {"name": "q_halls", "path": str(path)})
    assert made.status == 201, made.body
    assert made.json["schema"].startswith("id ")
    sql = "SELECT r.id, h.hall FROM q_readings r JOIN q_halls h ON r.id = h.id"
    assert plant.post("/v1/queries", {"name": "q.halls", "sql": sql}).status == 201
    assert plant.get("/v1/tables/q_halls").json["queries"] == ["q.halls"]
    path.write_text("id,hall\n1,south\n")
    assert plant.post("/v1/tables/q_halls/refresh").status == 200
    plant.lines("q_readings", [{"id": 1, "v": -1}])
    found = until(lambda: plant.get("/v1/queries/q.halls/results"), lambda reply: bool(reply.json["rows"]))
    assert found.json["rows"] == [{"id": 1, "hall": "south"}]
    assert plant.delete("/v1/tables/q_halls").status == 409
    plant.delete("/v1/queries/q.halls")
    assert plant.delete("/v1/tables/q_halls").status == 200
    assert [table["name"] for table in plant.get("/v1/tables").json["items"]] == []
    assert plant.post("/v1/tables", {"name": "q_none", "path": str(path.with_name("none.csv"))}).status == 422
