"""Whether the policies that a run will use can schedule its queries, asked before it begins."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from headgate.model import HeadgateError
from headgate.plan.network import Network
from headgate.policies.contract import Policy
from headgate.policies.registry import create
from headgate.workload import Workload
from headgate.workload.workload_locations import WorkloadLocations


def check_policy(policy: str, workload: Workload, begins: float = 0.0, ends: float = inf) -> None:
    """Refuse a policy that is unknown, or that lacks what it needs of a query which is there while it decides."""
    created = create(policy)
    if type(created).check is Policy.check:
        return
    present = [query for query in workload.queries if query.start < ends and query.end > begins]
    created.check(
        Network.of(present, workload.streams, workload.classes, workload.tables, share=False, reads=workload.reads)
    )


def policy_problems(workload: Workload, places: WorkloadLocations, policies: Iterable[str] = ()) -> list[HeadgateError]:
    """Why policies cannot decide: each that the run may begin with, and those of [[change]] tables with their lines."""
    changed = sorted((change.at, number) for number, change in enumerate(workload.changes) if change.policy is not None)
    moments = [*(at for at, _ in changed), inf]
    problems: list[HeadgateError] = []
    for policy in policies:
        try:
            check_policy(policy, workload, ends=moments[0])
        except HeadgateError as error:
            problems.append(error)
    for (begins, number), ends in zip(changed, moments[1:], strict=True):
        try:
            with places.at("change", number, "policy"):
                check_policy(str(workload.changes[number].policy), workload, begins, ends)
        except HeadgateError as error:
            problems.append(error)
    return places.by_line(problems)
