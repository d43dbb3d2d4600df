"""The curves of classes and queries: lists of one length, of one tenant each, that go on where they were asked last."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.test_status import snapshot, view

from headgate.server.live.latency_log import LatencyLog
from headgate.server.workspace.latencies import latencies_json
from headgate.server.workspace.names import Names

QUERIES = {"acme..hot": "low", "rival..hot": "low", "b": "high"}


def log(*looks: dict[str, int], kept: int = 120) -> LatencyLog:
    """A log of some looks at queries, 5 s apart; each has so many results of 0.5 s, and tuples that wait."""
    made = LatencyLog(kept)
    for number, results in enumerate(looks):
        views = [view(name, QUERIES[name], count) for name, count in results.items()]
        made.add(replace(snapshot(*views), at=1000.0 + 5 * number))
    return made


def test_curves_have_a_value_for_each_sample_or_none() -> None:
    told = latencies_json(log({"acme..hot": 3, "b": 0}, {"acme..hot": 1, "rival..hot": 4}).since(None), Names())
    assert (told["step"], told["at"]) == (5.0, [1000.0, 1005.0])
    assert told["queries"] == {"acme..hot": [0.5, 0.5], "rival..hot": [None, 0.5]}
    assert told["classes"]["low"]["waiting"] == [3, 5]
    assert told["classes"]["low"]["p95"] == pytest.approx([0.5, 0.5], rel=0.025)
    assert told["classes"]["high"] == {"p50": [None] * 2, "p95": [None] * 2, "waiting": [0, 0], "rate": [1.0, 0]}


def test_a_tenant_sees_its_own_curves_alone() -> None:
    samples = log({"acme..hot": 3, "rival..hot": 77, "b": 77}, {"rival..hot": 77}).since(None)
    told = latencies_json(samples, Names("acme"))
    assert told["queries"] == {"hot": [0.5, None]}
    assert told["classes"].keys() == {"low"}
    assert told["classes"]["low"]["waiting"] == [3, None]
    assert latencies_json(samples, Names("nobody"))["classes"] == {}
    for marker in ("rival", "acme", "77", "high"):
        assert marker not in json.dumps(told)


def test_a_snapshot_is_noted_once_and_old_ones_are_forgotten() -> None:
    made = log(*[{"b": 1}] * 5, kept=3)
    made.add(replace(snapshot(view("b", "high", 9)), at=1020.0))
    assert [sample.at for sample in made.since(None)] == [1010.0, 1015.0, 1020.0]


looks = st.lists(st.dictionaries(st.sampled_from(sorted(QUERIES)), st.integers(0, 5)), max_size=8)


@given(looks, st.integers(0, 8), st.sampled_from(["", "acme"]))
def test_pieces_together_are_the_whole(made: list[dict[str, int]], place: int, tenant: str) -> None:
    kept, names = log(*made), Names(tenant)
    whole = latencies_json(kept.since(None), names)
    cut = whole["at"][:place]
    first = latencies_json([sample for sample in kept.since(None) if sample.at in cut], names)
    rest = latencies_json(kept.since(cut[-1] if cut else None), names)
    assert joined(first, rest) == whole


def joined(first: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """What a page makes of two answers: who is missing in one of them is unknown there."""
    lengths = len(first["at"]), len(rest["at"])

    def curve(before: list[Any] | None, after: list[Any] | None) -> list[Any]:
        return (before or [None] * lengths[0]) + (after or [None] * lengths[1])

    classes = {
        name: {
            field: curve(first["classes"].get(name, {}).get(field), rest["classes"].get(name, {}).get(field))
            for field in ("p50", "p95", "waiting", "rate")
        }
        for name in first["classes"] | rest["classes"]
    }
    queries = {
        name: curve(first["queries"].get(name), rest["queries"].get(name))
        for name in first["queries"] | rest["queries"]
    }
    return {"step": 5.0, "at": first["at"] + rest["at"], "classes": classes, "queries": queries}
