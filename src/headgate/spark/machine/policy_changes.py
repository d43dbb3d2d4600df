"""Steering: another policy takes over, by command or because the one that decided has failed."""

from __future__ import annotations

from headgate.core import PolicyChanged
from headgate.model import Level
from headgate.plan.network import Network
from headgate.policies.contract import Policy
from headgate.policies.guarded import Guarded
from headgate.policies.registry import create
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.preparation import Preparation
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling

FINE = (Level.OPERATOR, Level.SEGMENT)  # levels at which rows wait inside a query
LAST_RESORT = "fcfs"


def cut_level(level: Level) -> Level | None:
    """The level at which queries are cut; None: each is whole.

    Segments change with what is measured, so that they cannot be pieces: a run of one goes over the operators' pieces.
    """
    return Level.OPERATOR if level in FINE else None


class PolicyChanges:
    """Which policy decides. At another level queries are cut anew, one after the other, while the rest goes on."""

    def __init__(self, context: MachineContext, scheduling: Scheduling, runs: Runs, preparing: Preparation) -> None:
        self._context, self._scheduling, self._runs, self._preparing = context, scheduling, runs, preparing
        self.failed = ""  # what the last policy that failed said
        self._policy = str(scheduling.scheduler.policy)
        self._former = LAST_RESORT
        self._changing: list[tuple[int, list[Life]]] = []  # tickets that wait for queries to be cut
        preparing.level = cut_level(scheduling.scheduler.policy.level)

    def set_policy(self, policy: str, fuse: str | None, ticket: int | None = None) -> None:
        """Let another policy decide; one that cannot is refused, and nothing has changed then."""
        made = create(policy)
        made.check(self._all_queries())
        self._former, self._policy = self._policy, policy
        cut = self._change(made, policy, fuse)
        if ticket is not None:
            self._changing.append((ticket, cut))
            self.watch_changes()

    def _all_queries(self) -> Network:
        """What the scheduler has, and the queries that are out of it for now: they will come back."""
        network = self._scheduling.scheduler.network
        for life in self._context.lives.values():
            if life.layout is not None and not life.entered and life.state not in (QueryState.DONE, QueryState.STOPPED):
                network = network.add(life.query)
        return network

    def _change(self, made: Policy, policy: str, fuse: str | None) -> list[Life]:
        """The queries that are cut anew."""
        changed = PolicyChanged(policy, fuse)
        if cut_level(made.level) == self._preparing.level:
            self._scheduling.tell(changed)
            return []
        self._preparing.level = cut_level(made.level)
        entered = [life for life in self._context.lives.values() if life.state is QueryState.RUNNING]
        for life in entered:
            self._scheduling.leave(life)
        self._scheduling.tell(changed)
        for life in entered:
            self._cut(life)
        return entered

    def _cut(self, life: Life) -> None:
        """Cut a query anew; a run of it that is under way ends first."""
        self._context.change_state(life, QueryState.CUTTING, "another policy")
        if life.busy:
            life.when_idle = lambda: self._preparing.prepare(life, "")
        else:
            self._preparing.prepare(life, "")

    def watch_changes(self) -> None:
        """Answer those who changed the policy once all queries have come along."""
        for ticket, lives in list(self._changing):
            if not any(life.state is QueryState.CUTTING for life in lives):
                self._changing.remove((ticket, lives))
                self._context.reply(ticket)

    def watch_policy(self) -> bool:
        """Take a policy out that has raised: the one before it, or first come first served, decides from now on."""
        self.watch_changes()
        policy = self._scheduling.scheduler.policy
        if not isinstance(policy, Guarded) or policy.error is None:
            return False
        self.failed = policy.report()
        former = self._former if self._former != self._policy else LAST_RESORT
        for text in dict.fromkeys((former, LAST_RESORT)):
            try:
                made = create(text)
                made.check(self._all_queries())
            except Exception:  # then the last resort, which takes any network
                continue
            self._policy, self._former = text, LAST_RESORT
            self._change(made, text, None)
            break
        self._context.log("error", "a policy failed", policy=policy, why=self.failed, instead=self._policy)
        return True
