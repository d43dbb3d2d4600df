"""What a case may have in it; KNOWN are the features that are left out until the engine can do them."""

from __future__ import annotations

FAILING = ("failing tuple", "failing pair", "failing group")  # expressions that fail, by what they fail on
SINKS = ("jsonl", "memory", "callback")
FEATURES = frozenset(
    {
        *FAILING,
        *SINKS,
        "failing sink",  # a callback that raises now and then; its query is resumed
        "late rows",
        "null elements",  # of arrays
        "rows as dicts",  # appended as mappings, else as Arrow tables
        "pieces",  # policies at the level of operators and segments
        "pause in pieces",  # pause and resume while a query may be in pieces
        "policy",  # set_policy in between
        "without qos",  # queries without a graph, and policies that need none
        "pause",
        "replace",
        "stop",
        "move",
        "start later",
        "finish early",
        "restart",
        "expressions",  # every other case is of expressions from Spark's registry, see relations.py
        "executors",  # trains so large, by the settings, that executors read and write files themselves
    }
)
KNOWN: frozenset[str] = frozenset()  # at the moment there is none


def chosen(on: str = "", off: str = "") -> frozenset[str]:
    """All features but the known ones, and those that are turned on or off by name.

    >>> "failing sink" in chosen(), "late rows" in chosen(off="late rows, move")
    (True, False)
    """
    found = FEATURES if on == "all" else (FEATURES - KNOWN) | _named(on)
    return found - _named(off)


def _named(text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(",") if name.strip() and name != "all")
    if names - FEATURES:
        raise SystemExit(f"no feature '{', '.join(names - FEATURES)}'; there are {', '.join(sorted(FEATURES))}")
    return names
