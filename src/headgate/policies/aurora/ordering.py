"""What a decision of Aurora's scheduler costs: the order of all that can run is kept, or made anew."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from headgate.model import Choice, Idle, WorkerId
from headgate.policies.contract import Policy, View, sorting
from headgate.policies.settings import Setting

ORDER = Setting(
    "order",
    "kept",
    "kept: a decision looks only at what has changed; sorted: it sorts all ready units, as published",
    choices=("kept", "sorted"),
)


class Ordering(Policy):
    """Runs the first units of an order that is kept between decisions, or sorted anew for each.

    The document's scheduler sorts: whenever it is asked, it looks which boxes can run and puts all of these in order,
    however few of them it lists (Carney 2005, sections 4.2.1 and 4.4). Both ways the same units are chosen; what
    deciding costs is counted by the way that is asked for.
    """

    settings: ClassVar[tuple[Setting, ...]] = (ORDER,)

    order: str

    @abstractmethod
    def first(self, view: View, worker: WorkerId) -> Choice | Idle:
        """The first units of the order that is kept."""

    def reads(self, view: View) -> int:
        """How many queues are read to compute the priorities of all ready units."""
        return 0

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        if self.order == "kept":
            return self.first(view, worker)
        tally = self.tally
        looked = len(view.units) + sorting(len(view.ready))
        computed, compared = tally.computed + self.reads(view), tally.compared + looked
        choice = self.first(view, worker)  # what sorting would give
        tally.computed, tally.compared = computed, compared
        return choice
