"""Whether a policy can be used with a workload."""

from __future__ import annotations

from headgate.policies.contract import Policy
from headgate.workload import Workload


def misfit(policy: type[Policy], workload: Workload) -> str | None:
    """The reason why a policy does not fit a workload, or None if it fits."""
    if "class_priority" in policy.needs and not _has_priorities(workload):
        return "all classes have the same priority"
    if "qos" in policy.needs and (without := [query.name for query in workload.queries if query.qos is None]):
        everywhere = len(without) == len(workload.queries)
        return "no query has a QoS graph" if everywhere else f"query '{without[0]}' has no QoS graph"
    return None


def _has_priorities(workload: Workload) -> bool:
    priorities = {query_class.priority for query_class in workload.classes}
    return len(priorities) > 1 or any(change.priority is not None for change in workload.changes)
