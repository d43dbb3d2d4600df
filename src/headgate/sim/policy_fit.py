"""Whether the policies that a run will use can schedule its queries, asked before it begins."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from headgate.model import HeadgateError, Level, Operator, Query, walk
from headgate.plan.network import Network
from headgate.policies.contract import Policy
from headgate.policies.isolation_checks import check_isolation, given_settings
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


def check_isolated(policy: str, workload: Workload) -> None:
    """Refuse settings of a policy that cannot keep the classes of a simulated workload apart."""
    created = create(policy)
    if not given_settings(created):
        return
    shortest = min((_fixed(query, workload, created.level) for query in workload.queries), default=0.0)
    try:
        check_isolation(created, classes_of(workload), workload.cores, shortest)
    except HeadgateError as error:
        raise error.at(f"policy '{policy}'") from None


def classes_of(workload: Workload) -> dict[str, float]:
    """Classes that queries are in at some time, with their priorities; none if these change."""
    if any(change.priority is not None for change in workload.changes):
        return {}
    used = {query.query_class for query in workload.queries}
    used |= {change.query_class for change in workload.changes if change.query_class is not None}
    return {one.name: one.priority for one in workload.classes if one.name in used}


def _fixed(query: Query, workload: Workload, level: Level) -> float:
    """The least that a run of a query costs before it touches a tuple."""
    overheads = [node.given.overhead for node in walk(query.plan) if isinstance(node, Operator)]
    whole = level in (Level.QUERY, Level.SHARED, Level.GROUP)
    return workload.run_overhead + (sum(overheads) if whole else min(overheads, default=0.0))


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
