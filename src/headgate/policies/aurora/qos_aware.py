"""What the policies that follow QoS graphs have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from headgate.model import WHOLE_QUEUE, Choice, HeadgateError, Idle, Level, WorkerId
from headgate.plan.network import Network
from headgate.policies.contract import Policy, View, sorting
from headgate.policies.settings import Setting


class QosAware(Policy):
    """Decides by QoS graphs, which every query must have; with `push`, a path runs through to its output at once."""

    levels = (Level.OPERATOR,)
    usual_train = WHOLE_QUEUE
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting("push", False, "whether a chosen leaf runs with all that is downstream of it"),
    )

    push: bool

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.push:
            self.level = Level.PATH

    def check(self, network: Network) -> None:
        without = [f"'{name}'" for name, query in network.queries.items() if query.qos is None]
        if without:
            more = f" and {len(without) - 3} more" if len(without) > 3 else ""
            raise HeadgateError(
                f"{self.name} decides by QoS graphs, and there is none for {', '.join(without[:3])}{more}",
                hint="give the query one: qos = [[0.0, 1.0], [0.5, 1.0], [2.0, 0.0]] is full utility up to 0.5 s, "
                "then less and less, none from 2 s on",
            )


class Ordered(QosAware):
    """Runs the first units of an order that is kept between decisions, or sorted anew for each.

    The document's scheduler sorts: whenever it is asked, it looks at all that can run and puts that in order, however
    few of them it lists (Carney 2005, sections 4.2.1 and 4.4.1). Both ways the same units are chosen; what deciding
    costs is counted by the way that is asked for.
    """

    settings: ClassVar[tuple[Setting, ...]] = (
        *QosAware.settings,
        Setting(
            "order",
            "kept",
            "kept: only what has changed is looked at; sorted: all ready units at every decision, as published",
            choices=("kept", "sorted"),
        ),
    )

    order: str

    @abstractmethod
    def first(self, view: View, worker: WorkerId) -> Choice | Idle:
        """The first units of the order that is kept."""

    def reads(self, view: View) -> int:
        """From how many queues the priorities of all ready units are computed."""
        return 0

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        if self.order == "kept":
            return self.first(view, worker)
        tally = self.tally
        computed, compared = tally.computed + self.reads(view), tally.compared + sorting(len(view.ready))
        choice = self.first(view, worker)  # what sorting would give
        tally.computed, tally.compared = computed, compared
        return choice
