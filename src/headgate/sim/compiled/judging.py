"""Inversions of classes: the policy's own code judges them, compiled code goes on with what it decides."""

from __future__ import annotations

import numpy as np

from headgate.core.units import CoreView
from headgate.policies.classes.abd import AdaptiveBroadcastDisks
from headgate.policies.classes.cqc import ContinuousQueryClasses
from headgate.policies.classes.mbd import MultiCoreBroadcastDisks
from headgate.policies.contract import Policy
from headgate.sim.compiled.layout import Layout
from headgate.sim.compiled.memory import Memory
from headgate.sim.compiled.policy_layout import PolicyLayout, lay_out_disks, lay_out_slices
from headgate.sim.compiled.waking import wake_ready


class Judge:
    """Tells a policy of response times, and takes up the schedule that it makes of them."""

    def __init__(self, policy: Policy, view: CoreView, layout: Layout, laid_out: PolicyLayout) -> None:
        self._policy = policy
        self._view = view
        self._layout = layout
        self._laid_out = laid_out

    def hear(self, memory: Memory) -> None:
        """Tell the policy of the response times so far."""
        state, policy = memory.state[0], self._policy
        assert isinstance(policy, AdaptiveBroadcastDisks | ContinuousQueryClasses | MultiCoreBroadcastDisks)
        answers = memory.answers[: state["answers"]]
        for number, name in enumerate(self._layout.classes):
            policy.hear(name, answers["response"][answers["payer"] == number].tolist())
        state["answers"] = 0

    def judge(self, memory: Memory) -> None:
        """Let the policy judge."""
        self.hear(memory)
        policy, state, view = self._policy, memory.state[0], self._view
        state["rebuilt"] = 0
        view.now = float(state["now"])
        if isinstance(policy, ContinuousQueryClasses):
            if policy.judge(view):
                parts = memory.parts
                parts["share"] = [account.share for account in policy.accounts.values()]
                parts["quota"] = np.minimum(parts["quota"], parts["share"])
        elif isinstance(policy, AdaptiveBroadcastDisks):
            if policy.judge(view):
                self._laid_out.cut(self._layout, memory.words)
                lay_out_slices(self._laid_out, policy, self._layout)
                state["cycle"] = state["turns"] = 0
                state["current"] = -1
                self._take_up(memory)
        elif isinstance(policy, MultiCoreBroadcastDisks) and policy.judge(view):
            self._laid_out.cut(self._layout, memory.words)
            lay_out_disks(self._laid_out, policy, self._layout)
            state["cycle"] = 0
            self._take_up(memory)

    def _take_up(self, memory: Memory) -> None:
        """A new schedule: who is ready stands in it from the start."""
        laid_out = self._laid_out
        memory.put(
            links=self._layout.links.array(),
            slots=laid_out.slots,
            words=laid_out.words,
            rotations=laid_out.rotations,
        )
        memory.state[0]["rebuilt"] = 1
        wake_ready(memory.world)
