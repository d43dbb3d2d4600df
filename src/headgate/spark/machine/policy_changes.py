"""Changes of the scheduling policy, by command or because the current policy has raised an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headgate.core import PolicyChanged
from headgate.model import HeadgateError, Level, Query, QueryClass
from headgate.plan.network import Network
from headgate.policies.contract import Policy
from headgate.policies.guarded import Guarded
from headgate.policies.isolation_checks import check_isolation
from headgate.policies.registry import create
from headgate.spark.machine.catalog import Catalog
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.definitions import SETTINGS
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.plan_views import with_query
from headgate.spark.machine.preparation import Preparation
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling

FINE = (Level.OPERATOR, Level.SEGMENT)  # levels at which queries are cut into fragments
LAST_RESORT = "fcfs"
SHORTEST_JOB = 0.05  # seconds that a Spark job takes whatever it does: a slice must not be shorter


def cut_level(level: Level) -> Level | None:
    """The level at which queries are cut for a policy's level; None: each query is one fragment.

    Segments change with the measured costs, so queries are cut at operators: a run of a segment takes several
    fragments.
    """
    return Level.OPERATOR if level in FINE else None


class PolicyChanges:
    """Which policy decides. If its level differs, queries are cut again one by one while the others keep running."""

    def __init__(
        self,
        context: MachineContext,
        scheduling: Scheduling,
        runs: Runs,
        preparation: Preparation,
        catalog: Catalog,
    ) -> None:
        self._catalog = catalog
        self._context, self._scheduling, self._runs, self._preparation = context, scheduling, runs, preparation
        self.failed = ""  # the error of the last policy that failed
        self._policy = str(scheduling.scheduler.policy)
        self._former = LAST_RESORT
        self.changed: Callable[[], None]  # starts queries that the former policy could not schedule; set by the machine
        self._being_committed: list[Policy] = []
        self._changing: list[tuple[int, list[Life]]] = []  # tickets, and the queries that they wait for
        preparation.level = cut_level(scheduling.scheduler.policy.level)

    def set_policy(self, policy: str, fuse: str | None, ticket: int) -> None:
        """Change the policy, unless it cannot schedule the queries that exist."""
        created = create(policy)
        network = self._all_queries()
        created.check(network)
        used = {query.query_class for query in network.queries.values()}
        classes = {name: network.classes[name].priority for name in used}
        check_isolation(created, classes, self._runs.workers, SHORTEST_JOB, "worker")
        self._being_committed.append(created)

        def written(error: Exception | None) -> None:
            self._being_committed.remove(created)
            if error is not None:
                self._context.reply(ticket, error=error)
                return
            self._former, self._policy, self.failed = self._policy, policy, ""
            self._changing.append((ticket, self._change(created, policy, fuse)))
            self.changed()
            self.watch_changes()

        self._catalog.change(SETTINGS, {"policy": policy, **({} if fuse is None else {"fuse": fuse})}, written)

    def check(self, query: Query, query_class: QueryClass | None = None) -> None:
        """Refuse a query that the policy cannot schedule, or the next one, whose commit is under way.

        `query_class` is its class if that is not there yet.
        """
        self._check(with_query(self._scheduling.scheduler.network, query, query_class))

    def refused(self, queries: Sequence[Query]) -> dict[str, HeadgateError]:
        """Those of some new queries that cannot be scheduled, with the reason, if they come in this order."""
        network = self._scheduling.scheduler.network
        try:
            self._check(network.add_all(queries))
        except HeadgateError:
            return self._refused_one_by_one(network, queries)
        return {}

    def _refused_one_by_one(self, network: Network, queries: Sequence[Query]) -> dict[str, HeadgateError]:
        refused: dict[str, HeadgateError] = {}
        for query in queries:
            try:
                larger = network.add(query)
                self._check(larger)
                network = larger
            except HeadgateError as error:
                refused[query.name] = error
        return refused

    def _check(self, network: Network) -> None:
        for policy in (self._scheduling.scheduler.policy, *self._being_committed):
            policy.check(network)

    def _all_queries(self) -> Network:
        """The queries in the scheduler, and those that will return to it."""
        network = self._scheduling.scheduler.network
        for life in self._context.lives.values():
            if life.layout is not None and not life.entered and life.state not in (QueryState.DONE, QueryState.STOPPED):
                network = network.add(life.query)
        return network

    def _change(self, created: Policy, policy: str, fuse: str | None) -> list[Life]:
        """Change the policy, and return the queries that must be cut again."""
        changed = PolicyChanged(policy, fuse)
        if cut_level(created.level) == self._preparation.level:
            self._scheduling.tell(changed)
            return []
        self._preparation.level = cut_level(created.level)
        entered = [life for life in self._context.lives.values() if life.state is QueryState.RUNNING]
        for life in entered:
            self._scheduling.leave(life)
        self._scheduling.tell(changed)
        for life in entered:
            self._cut(life)
        return entered

    def _cut(self, life: Life) -> None:
        """Cut a query again, after its active runs have ended."""
        self._context.change_state(life, QueryState.CUTTING, "another policy")
        if life.busy:
            life.when_idle = lambda: self._preparation.prepare(life, "")
        else:
            self._preparation.prepare(life, "")

    def watch_changes(self) -> None:
        """Reply to commands whose queries have all been cut."""
        for ticket, lives in list(self._changing):
            if not any(life.state is QueryState.CUTTING for life in lives):
                self._changing.remove((ticket, lives))
                self._context.reply(ticket)

    def watch_policy(self) -> bool:
        """Replace a policy that has raised an error by the one before it, or by first come first served."""
        self.watch_changes()
        policy = self._scheduling.scheduler.policy
        if not isinstance(policy, Guarded) or policy.error is None:
            return False
        self.failed = policy.report()
        former = self._former if self._former != self._policy else LAST_RESORT
        for text in dict.fromkeys((former, LAST_RESORT)):
            try:
                created = create(text)
                created.check(self._all_queries())
            except Exception:  # then the last resort, which can schedule any queries
                continue
            self._policy, self._former = text, LAST_RESORT
            self._change(created, text, None)
            break
        self._context.log("error", "a policy failed", policy=policy, why=self.failed, instead=self._policy)
        return True
