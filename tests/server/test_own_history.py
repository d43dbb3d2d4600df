"""What a tenant sees of a history: whatever others did, it learns only for how long that was in its way."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.history.history import History
from headgate.history.records import Answer, Arrivals, Delivery, RunRecord, Setting
from headgate.insight.inversions import inversions_of
from headgate.insight.json_trees import explanation_tree
from headgate.insight.why import Explainer
from headgate.model import HeadgateError, WaitingUnit, Why
from headgate.server.workspace.names import Names
from headgate.server.workspace.own_history import own_history

ACME = Names("acme")
MARKER, NUMBER = "planted", 987654321  # in names, and as numbers, of all that is not the tenant's
PLAN = {"is": "Project", "inputs": [{"is": "Source", "stream": "acme..rows"}]}
QUERIES = ("acme..a", "acme..b", f"{MARKER}..x", f"{MARKER}-y")
CLASS = {"acme..a": "gold", "acme..b": "tin", f"{MARKER}..x": f"{MARKER}-class", f"{MARKER}-y": "gold"}

Spans = list[tuple[int, float, float]]  # whose run, when it begins after the one before, and how long it takes
spans = st.lists(st.tuples(st.integers(0, 3), st.floats(0.0, 0.2), st.floats(0.01, 2.0)), max_size=12)


def header() -> dict[str, Any]:
    return {
        "workers": 1,
        "policy": "hnr",
        "fuse": "class",
        "queries": [
            {"name": name, "query_class": CLASS[name], "plan": PLAN if name.startswith("acme") else {}, "sql": name}
            for name in QUERIES
        ],
        "classes": [{"name": name, "priority": 9.0 if name == "gold" else 1.0} for name in sorted({*CLASS.values()})],
        "streams": [{"name": f"{MARKER}-stream"}],
        "measured": {"rates": {f"{MARKER}-stream": NUMBER}},
    }


def run(number: int, query: str, began: float, ended: float) -> RunRecord:
    own = query.startswith("acme")
    waiting = [WaitingUnit(name, CLASS[name], (name,), NUMBER, 9.5, {"p": NUMBER}) for name in QUERIES]
    numbers, other = {"p": float(NUMBER)}, f"{MARKER}..x"
    why = Why("hnr", "highest", query, numbers, other, numbers, f"next is {other}", tuple(waiting))
    return RunRecord(
        NUMBER + number, NUMBER, query, CLASS[query], (query,), 5 if own else NUMBER, began - 1.0, began, ended, ended,
        predicted=NUMBER, jobs=NUMBER, read=NUMBER, answers={query: Answer(3, began - 0.8, began - 1.0)},
        takes=((NUMBER, NUMBER, NUMBER),), operators=((NUMBER, NUMBER, NUMBER),), decision=NUMBER + number,
        commit=number, error=None if own else MARKER, recorded_why=why,
    )  # fmt: skip


def history(made: Spans, split: bool = False) -> History:
    """Runs one after the other; with `split`, those of others are two runs each, of other queries and numbers."""
    now = 10.0
    runs: list[RunRecord] = []
    for whose, pause, length in made:
        now += pause
        query = QUERIES[whose]
        parts = [(now, now + length)]
        if split and not query.startswith("acme"):
            parts = [(now, now + length / 2), (now + length / 2, now + length)]
            query = QUERIES[5 - whose]
        runs += [run(len(runs) + place, query, *part) for place, part in enumerate(parts)]
        now += length
    if split:
        runs = [one if one.unit.startswith("acme") else replace(one, tuples=17) for one in runs]
    arrivals = [Arrivals(now, f"{MARKER}-stream", ((9.0, NUMBER),)), Arrivals(now, "acme..rows", ((9.0, 5),))]
    deliveries = [Delivery(now + 1.0, name, len(runs)) for name in QUERIES]
    return History.of([Setting(0.0, 0.0, header()), *runs, *arrivals, *deliveries])


def answers(seen: History) -> dict[str, Any]:
    """All that a tenant can ask of its history."""
    explainer = Explainer(seen)
    told: dict[str, Any] = {"inversions": inversions_of(seen)}
    for query in ("a", "b"):
        for which in ("worst", "last"):
            try:
                told[f"{query} {which}"] = explanation_tree(explainer.pick(query, which), seen.origin)
            except HeadgateError as error:
                told[f"{query} {which}"] = str(error)
    return told


@settings(max_examples=60, deadline=None)
@given(spans)
def test_no_name_and_no_number_of_others_survives(made: Spans) -> None:
    seen = own_history(history(made), ACME)
    for text in (repr(seen), json.dumps(answers(seen))):
        assert MARKER not in text
        assert str(NUMBER)[:6] not in text
        assert "acme" not in text


@settings(max_examples=60, deadline=None)
@given(spans)
def test_answers_are_the_same_however_others_divide_their_work(made: Spans) -> None:
    one, other = (answers(own_history(history(made, split), ACME)) for split in (False, True))
    assert rounded(one) == rounded(other)


def test_other_work_is_told_with_its_seconds() -> None:
    seen = own_history(history([(2, 0.0, 2.0), (0, 0.0, 1.0)]), ACME)
    told = explanation_tree(Explainer(seen).pick("a", "worst"), seen.origin)
    assert "behind other work" in told["sentence"]
    assert [delay.keys() for delay in told["delays"]] == [{"seconds", "cause"}]


def test_without_a_tenant_the_history_is_the_whole() -> None:
    whole = history([(2, 0.0, 2.0)])
    assert own_history(whole, Names()) is whole


def rounded(tree: Any) -> Any:
    """The same with six digits: sums in another order differ in the last ones."""
    if isinstance(tree, dict):
        return {name: rounded(part) for name, part in tree.items()}
    if isinstance(tree, list):
        return [rounded(part) for part in tree]
    return round(tree, 6) if isinstance(tree, float) else tree
