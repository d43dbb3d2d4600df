"""Whether the policies that a run will use can schedule its queries, asked before it begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from headgate.model import HeadgateError, Level, Operator, Query, walk
from headgate.model.target_checks import check_reachable
from headgate.plan.network import Network
from headgate.policies.contract import Policy
from headgate.policies.isolation_checks import check_isolation, given_settings
from headgate.policies.registry import create
from headgate.sim.load import scaled
from headgate.stats import Measured, Stats
from headgate.workload import Workload
from headgate.workload.workload_locations import WorkloadLocations, by_line


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


def check_targets(workload: Workload, ideal_times: Mapping[str, float]) -> None:
    """Refuse targets, of queries or of their classes, that a query misses even alone: below its ideal time."""
    for error in _unreachable(workload, WorkloadLocations(), ideal_times):
        raise error


def target_problems(workload: Workload, places: WorkloadLocations) -> list[HeadgateError]:
    """Targets that the simulator would refuse, each with its line."""
    wanted = [*(query.target for query in workload.queries), *(one.target for one in workload.classes)]
    if not any(wanted):
        return []
    simulated = scaled(workload)
    return _unreachable(simulated, places, ideal_times(simulated))


def _unreachable(
    workload: Workload, places: WorkloadLocations, ideal_times: Mapping[str, float]
) -> list[HeadgateError]:
    problems: dict[str, HeadgateError] = {}
    classes = {one.name: one for one in workload.classes}
    for query in workload.queries:
        of_class = query.target is None
        place = ("class", query.query_class, "target") if of_class else ("query", query.name, "target")
        try:
            with places.at(*place):
                target = classes[query.query_class].target if of_class else query.target
                check_reachable(target, ideal_times[query.name], f"a tuple of query '{query.name}'")
        except HeadgateError as error:
            problems.setdefault(places.written_at(*place) or query.name, error)
    return by_line(problems.values())


def ideal_times(workload: Workload) -> dict[str, float]:
    """How long a tuple of each query takes alone."""
    network = workload.network()
    for query in workload.queries:
        if query.name not in network.queries:
            network = network.add(query)
    stats = Stats(network, Measured.of(network, run_overhead=workload.run_overhead))
    return {query.name: stats.query_ideal_time(query.name) for query in workload.queries}


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
    return by_line(problems)
