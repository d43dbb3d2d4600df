"""What the policies that follow QoS graphs have in common."""

from __future__ import annotations

from typing import Any, ClassVar

from headgate.model import WHOLE_QUEUE, HeadgateError, Level
from headgate.plan.network import Network
from headgate.policies.contract import Policy
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
