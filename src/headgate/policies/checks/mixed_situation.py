"""The situation that checks use: cheap and free queries, joins, shared operators, QoS graphs, classes, rates."""

from __future__ import annotations

from headgate.policies.checks.situation import Situation

MIXED = Situation(
    {
        "one": "select, cost=5ms, selectivity=1",
        "two": ["select, cost=2ms, selectivity=0.5", "project, cost=1ms"],
        "free": "select, selectivity=0.5",
        "three": ["select, cost=1ms, selectivity=0.9", "table-join, cost=3ms, selectivity=1.5", "select, cost=2ms"],
        "tree": [["select, from=l, cost=1ms"], ["project, from=r, cost=1ms"], "join, window=1s, cost=1ms", "project"],
        "left": ["select, cost=1ms, selectivity=0.5, name=both", "project, cost=2ms"],
        "right": ["select, cost=1ms, selectivity=0.5, name=both", "select, cost=4ms, selectivity=0"],
    },
    qos={
        "one": [[0.0, 1.0], [0.25, 1.0], [0.25, 0.0]],
        "two": [[0.0, 1.0], [0.5, 1.0], [1.0, 0.0]],
        "free": [[0.0, 1.0]],
        "three": [[0.0, 1.0], [1.0, 0.5], [2.0, 0.5], [3.0, 0.0]],
        "tree": [[0.0, 1.0], [0.5, 1.0], [4.0, 0.0]],
        "left": [[0.0, 1.0], [0.125, 1.0], [0.25, 0.0]],
        "right": [[0.0, 1.0], [2.0, 0.0]],
    },
    classes={"one": "gold", "tree": "gold", "free": "tin"},
    priorities={"gold": 6.0, "all": 3.0, "tin": 0.0},
    rates={"s": 8.0, "l": 4.0, "r": 2.0},
)
