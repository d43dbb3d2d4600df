"""The process that answers a what-if: a question as JSON on its input, the answer as JSON on its output.

{"directory": "out/plant", "policies": ["fcfs"], "fuse": "off", "priorities": {"critical": 80}, "workers": 4,
"rate": 1.5, "added": {"sql": "SELECT …", "class": "normal", "name": "new"}, "last": 60.0, "by": "mean"}
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from headgate.core.trace import replayable
from headgate.history.ring import read_history
from headgate.model import HeadgateError
from headgate.what_if.ask import AddedQuery, Question, ask
from headgate.what_if.latest import latest


def answered(question: Mapping[str, Any]) -> dict[str, Any]:
    """What `headgate what-if --json` prints; with an added query also what it does to each class, under `added`."""
    history = latest(read_history(question["directory"]), question.get("last"))
    for setting in history.settings:
        replayable(setting.header["policy"], [])
    new = question.get("added")
    added = () if new is None else (AddedQuery(new["sql"], new["class"], new["name"]),)
    return ask(
        history,
        Question(
            tuple(question.get("policies") or ()),
            question.get("fuse"),
            question.get("priorities") or {},
            question.get("workers"),
            added,
            question.get("rate") or 1.0,
            question.get("seed") or 0,
            question.get("by"),
        ),
    )


def main() -> None:
    """Answer one question."""
    try:
        answer = answered(json.load(sys.stdin))
    except HeadgateError as error:
        answer = {"refused": error.message, "where": error.where, "hint": error.hint}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
