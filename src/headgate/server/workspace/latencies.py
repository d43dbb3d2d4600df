"""The curves of all classes and queries of a tenant, from the samples that the server takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.server.live.latency_log import EACH, ClassSample, Sample
from headgate.server.workspace.names import Names

CURVES = ("p50", "p95", "waiting", "rate")


def latencies_json(samples: Sequence[Sample], names: Names) -> dict[str, Any]:
    """Samples as lists of one length, by class and by query; None where something is unknown."""
    own = [sample.classes.get(names.tenant, {}) for sample in samples]
    classes = dict.fromkeys(name for by_class in own for name in by_class)
    queries = sorted({name for sample in samples for name in sample.queries if names.has(name)})
    return {
        "step": EACH,
        "at": [sample.at for sample in samples],
        "classes": {name: _curves([by_class.get(name) for by_class in own]) for name in classes},
        "queries": {names.short(name): [sample.queries.get(name) for sample in samples] for name in queries},
    }


def _curves(line: Sequence[ClassSample | None]) -> dict[str, list[float | None]]:
    return {name: [None if one is None else getattr(one, name) for one in line] for name in CURVES}
