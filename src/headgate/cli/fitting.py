"""Which policies make sense for a workload."""

from __future__ import annotations

from headgate.policies.contract import Policy
from headgate.workload import Workload


def misfit(policy: type[Policy], workload: Workload) -> str | None:
    """Why a policy does not fit a workload; None: it does."""
    if "class_priority" in policy.needs and not _has_priorities(workload):
        return "all classes have the same priority"
    if "qos" in policy.needs and not any(query.qos for query in workload.queries):
        return "no query has a QoS graph"
    return None


def _has_priorities(workload: Workload) -> bool:
    given = {each.priority for each in workload.classes}
    return len(given) > 1 or any(change.priority is not None for change in workload.changes)
