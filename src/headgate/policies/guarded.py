"""A policy whose exceptions do not reach the scheduler: they are kept, and the policy is not asked any more.

The engine puts another policy in its place; a simulation rather fails, so that its author sees where.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from headgate.model import IDLE, Choice, HeadgateError, Idle, Outcome, QueueId, Run, Unit, Why, WorkerId
from headgate.plan.network import Network
from headgate.policies.contract import Cut, Policy, View
from headgate.stats import Stats

R = TypeVar("R")


class Guarded(Policy):
    """Forwards every call to another policy, until one of its calls fails.

    >>> from headgate.policies.registry import create
    >>> guarded = Guarded(create("hnr"))
    >>> str(guarded), guarded.error
    ('hnr', None)
    """

    def __init__(self, inner: Policy) -> None:  # its settings are those of the policy behind it
        self.inner = inner
        self.error: Exception | None = None
        self.given, self.tally = inner.given, inner.tally
        self.level, self.train, self.schedule = inner.level, inner.train, inner.schedule
        self.needs, self.wants_answers = inner.needs, inner.wants_answers
        self._tells_growth = type(inner).grown is not Policy.grown

    def __str__(self) -> str:
        return str(self.inner)

    def seed(self, seed: int) -> None:
        self._guard(self.inner.seed, None, seed)

    def check(self, network: Network) -> None:
        """Errors of `check` reach the caller: they mean that the policy refuses the network."""
        try:
            self.inner.check(network)
        except HeadgateError:
            raise
        except Exception as error:
            hint = "choose another policy"
            raise HeadgateError(f"policy '{self}' failed: {type(error).__name__}: {error}", hint=hint) from error

    def regroup(self, network: Network, stats: Stats, cut: Cut) -> Sequence[Unit] | None:
        return self._guard(self.inner.regroup, None, network, stats, cut)

    def changed(self, view: View) -> None:
        self._guard(self.inner.changed, None, view)

    def ready(self, view: View, unit: Unit) -> None:
        self._guard(self.inner.ready, None, view, unit)

    def grown(self, view: View, queues: Iterable[QueueId]) -> None:
        if self._tells_growth:
            self._guard(self.inner.grown, None, view, queues)

    def finished(self, view: View, run: Run, outcome: Outcome) -> None:
        self._guard(self.inner.finished, None, view, run, outcome)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        choice: Choice | Idle = self._guard(self.inner.choose, IDLE, view, worker)
        if isinstance(choice, Idle):
            return choice
        try:
            for unit in choice.units:
                if unit.id not in view.ready:
                    raise LookupError(f"it chose {unit}, which is not ready")
            if not choice.units:
                raise LookupError("it chose nothing")
        except Exception as error:
            self.error = error
            return IDLE
        return choice

    def explain(self, view: View, choice: Choice) -> Why:
        return self._guard(self.inner.explain, Why(str(self), "", str(choice.units[0])), view, choice)

    def report(self) -> str:
        """The policy's error, with the place in its code."""
        assert self.error is not None
        text = f"{type(self.error).__name__}: {self.error}"
        frames = traceback.extract_tb(self.error.__traceback__)
        inside = [frame for frame in frames if frame.filename != __file__]
        if inside:
            text += f" ({inside[-1].filename}:{inside[-1].lineno}, in {inside[-1].name})"
        return f"policy '{self}' failed: {text}"

    def _guard(self, call: Callable[..., R], otherwise: Any, *given: Any) -> R:
        if self.error is not None:
            return otherwise  # type: ignore[no-any-return]
        try:
            return call(*given)
        except Exception as error:
            self.error = error
            return otherwise  # type: ignore[no-any-return]
