"""Policies over HTTP: what there is, which one decides, and changes of it."""

from __future__ import annotations

import pytest
from tests.server.http_client import Http

from headgate.model import HeadgateError
from headgate.policies.registry import policies
from headgate.server.workspace.policy import check_registered, described


@pytest.mark.parametrize(
    "text", ["./mine.py:Mine", "mine.py", "/etc/passwd", "adaptive, candidates=[hnr, m.py:M]", "a:b"]
)
def test_a_policy_of_a_file_is_refused_without_reading_it(text: str) -> None:
    with pytest.raises(HeadgateError, match="only registered policies"):
        check_registered(text)


def test_every_policy_tells_its_family_settings_and_documentation() -> None:
    for name in policies():
        told = described(name)
        assert {"family", "rule", "source", "description", "settings"} <= told.keys()
        assert all({"name", "type", "default", "meaning"} <= setting.keys() for setting in told["settings"]), name


def test_policies_are_listed_page_by_page(http: Http) -> None:
    first = http.get("/v1/policies?limit=5").json
    rest = http.get(f"/v1/policies?limit=1000&cursor={first['next']}").json
    assert [one["name"] for one in first["items"] + rest["items"]] == sorted(policies())
    assert http.get("/v1/policies/bsd").json["family"] == "slowdown"
    assert http.get("/v1/policies/bsdd").status == 404


def test_the_policy_and_fusion_are_changed_if_nobody_else_has(http: Http) -> None:
    before = http.get("/v1/policy")
    changed = http("PUT", "/v1/policy", {"policy": "hnr, train=500"}, headers={"If-Match": before.headers["etag"]})
    assert (changed.status, changed.json["policy"]) == (200, "hnr, train=500")
    again = http("PUT", "/v1/policy", {"policy": "fcfs"}, headers={"If-Match": before.headers["etag"]})
    assert again.status == 412
    assert http("PUT", "/v1/fusion", {"fuse": "all"}).json == {"fuse": "all"}
    assert http.get("/v1/policy").json == {"policy": "hnr, train=500", "fuse": "all", "error": None}
    assert http("PUT", "/v1/fusion", {"fuse": "some"}).status == 422
    for wrong in ("hnrx", "./mine.py:Mine", "bsd, clusters=-1"):
        assert http("PUT", "/v1/policy", {"policy": wrong}).status == 422, wrong


def test_a_preview_of_nothing_and_of_too_short_a_history_are_refused(http: Http) -> None:
    assert http.post("/v1/policy/preview", {}).status == 422
    short = http.post("/v1/policy/preview", {"policy": "fcfs"})
    assert (short.status, "hint" in short.json) == (422, True)
    for wrong in (0, -5, "soon"):
        refused = http.post("/v1/policy/preview", {"policy": "fcfs", "last": wrong})
        assert refused.status == 422
        assert "body last" in refused.json["detail"]
        assert "\n" not in refused.json["detail"]
