"""The process that answers what-ifs: a question in a line of JSON on its input, the answer in one on its output.

It ends when its input does, also in the middle of an answer: then there is nobody who waits for it.

{"directory": "out/plant", "policies": ["fcfs"], "fuse": "off", "priorities": {"critical": 80}, "workers": 4,
"rate": 1.5, "added": {"sql": "SELECT …", "class": "normal", "name": "new"}, "last": 60.0, "by": "mean"}
"""

from __future__ import annotations

import gc
import json
import os
import queue
import sys
import threading
import traceback
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


def told(question: Mapping[str, Any]) -> dict[str, Any]:
    """The answer, or why there is none."""
    try:
        return answered(question)
    except HeadgateError as error:
        return {"refused": error.message, "where": error.where, "hint": error.hint}
    except Exception as error:  # the next question may be a better one
        traceback.print_exc()
        return {"failed_with": f"{type(error).__name__}: {error}"}


def _read(questions: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        questions.put(line)
    os._exit(0)


def main() -> None:
    """Answer questions until there are no more."""
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever is printed on the way is no answer
    questions: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(questions,), daemon=True).start()
    while True:
        answers.write(json.dumps(told(json.loads(questions.get()))) + "\n")
        answers.flush()
        gc.collect()


if __name__ == "__main__":
    main()
