from __future__ import annotations

from dataclasses import replace
from typing import Any

from headgate.model import WHOLE_QUEUE, Choice, ClassId, Idle, Train, WorkerId
from headgate.policies.classes.mrr import MultiCoreRoundRobin
from headgate.policies.classes.ranking import first_known, priorities
from headgate.policies.contract import View
from headgate.policies.registry import register
from headgate.policies.settings import Setting


@register("mprr")
class MultiCoreProportionalRoundRobin(MultiCoreRoundRobin):
    """Queries in a fixed cycle, each on the share of its queue that its class's priority is of all priorities.

    Important classes come through their queues in few rounds. What is left behind of the others waits for the next
    round, and the next; their response times grow. A decision is one query, whatever `schedule` says: each class takes
    another share. It keeps to the priorities that it began with, as in section 6.3.7 there, unless `update=on`.

    >>> from headgate.policies.checks import Situation
    >>> of, worth = {"alarm": "gold", "report": "tin"}, {"gold": 3.0, "tin": 1.0}
    >>> policy = MultiCoreProportionalRoundRobin()
    >>> policy.changed(Situation(dict.fromkeys(of, "select"), classes=of, priorities=worth).view(policy))
    >>> {name: train.fraction for name, train in policy.trains.items()}
    {'gold': 0.75, 'tin': 0.25}
    """

    source = "Al Moakar 2013, section 6.2.1 (MPRR)"
    rule = "next query in the cycle, on its class's share of the queue"
    needs = frozenset({"class_priority"})
    settings = (Setting("update", "off", "whether priorities that change later are followed", choices=("on", "off")),)

    update: str

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.schedule = 1
        self.trains: dict[ClassId, Train] = {}
        self._known: dict[ClassId, float] = {}  # priorities as they were at first

    def changed(self, view: View) -> None:
        super().changed(view)
        of_classes = priorities(view) if self.update == "on" else first_known(view, self._known)
        train = self.train or WHOLE_QUEUE
        total = sum(of_classes.values())
        self.trains = {
            name: replace(train, fraction=train.fraction * value / total) for name, value in of_classes.items()
        }

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        choice = super().choose(view, worker)
        return choice if isinstance(choice, Idle) else replace(choice, train=self.trains[choice.units[0].payer])
