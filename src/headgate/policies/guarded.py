"""Policies whose exceptions do not reach the scheduler as they are.

`Guarded` keeps them, and the policy is not asked any more: the engine puts another one in its place. `Checked` makes
one line of them, with the place in the policy's code: a simulation rather fails, so that its author sees where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from headgate.model import IDLE, Choice, HeadgateError, Idle, Outcome, QueueId, Run, Unit, Why, WorkerId
from headgate.model.policy_names import is_from_file
from headgate.plan.network import Network
from headgate.policies.contract import Cut, Policy, View
from headgate.policies.failures import failure_text
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
        self.given, self.tally, self.updates = inner.given, inner.tally, inner.updates
        self.level, self.train, self.schedule = inner.level, inner.train, inner.schedule
        self.isolation, self.reading = inner.isolation, inner.reading
        self.needs, self.wants_answers = inner.needs, inner.wants_answers

    def __str__(self) -> str:
        return str(self.inner)

    def seed(self, seed: int) -> None:
        self._guard(self.inner.seed, None, seed)

    def succeed(self, former: Policy) -> None:
        self._guard(self.inner.succeed, None, former.inner if isinstance(former, Guarded) else former)

    def check(self, network: Network) -> None:
        """Errors of `check` reach the caller: they mean that the policy refuses the network."""
        try:
            self.inner.check(network)
        except HeadgateError:
            raise
        except Exception as error:
            hint = "choose another policy"
            raise HeadgateError(self._failure(error), hint=hint) from error

    def regroup(self, network: Network, stats: Stats, cut: Cut) -> Sequence[Unit] | None:
        return self._guard(self.inner.regroup, None, network, stats, cut)

    def changed(self, view: View) -> None:
        self._guard(self.inner.changed, None, view)

    def ready(self, view: View, unit: Unit) -> None:
        self._guard(self.inner.ready, None, view, unit)

    @property
    def wants_growth(self) -> bool:
        return self.inner.wants_growth

    def grown(self, view: View, queues: Iterable[QueueId]) -> None:
        self._guard(self.inner.grown, None, view, queues)

    def finished(self, view: View, run: Run, outcome: Outcome) -> None:
        self._guard(self.inner.finished, None, view, run, outcome)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        choice: Choice | Idle = self._guard(self.inner.choose, IDLE, view, worker)
        if isinstance(choice, Idle):
            return choice
        try:
            _check_choice(choice, view)
        except Exception as error:
            return self._failed(error, IDLE)  # type: ignore[no-any-return]
        return choice

    def explain(self, view: View, choice: Choice) -> Why:
        try:
            return self.inner.explain(view, choice)
        except Exception as error:  # it has decided, and that is what counts
            return self._unexplained(error, choice)

    def _unexplained(self, error: Exception, choice: Choice) -> Why:
        reason = f"the policy could not explain: {failure_text(error, type(self.inner))}"
        return Why(str(self), "", str(choice.units[0]), reason=reason)

    def report(self) -> str:
        """The policy's error, with the place in its code."""
        assert self.error is not None
        return self._failure(self.error)

    def _failure(self, error: Exception) -> str:
        return f"policy '{self}' failed: {failure_text(error, type(self.inner))}"

    def _guard(self, call: Callable[..., R], otherwise: Any, *given: Any) -> R:
        if self.error is not None:
            return otherwise  # type: ignore[no-any-return]
        try:
            return call(*given)
        except Exception as error:
            return self._failed(error, otherwise)  # type: ignore[no-any-return]

    def _failed(self, error: Exception, otherwise: Any) -> Any:
        self.error = error
        return otherwise


class Checked(Guarded):
    """Forwards every call to another policy; what it raises becomes one line with the place in the policy's code."""

    def _unexplained(self, error: Exception, choice: Choice) -> Why:
        return self._failed(error, None)  # type: ignore[no-any-return]

    def _failed(self, error: Exception, otherwise: Any) -> Any:
        raise HeadgateError(self._failure(error), hint="correct the policy") from error


def checked_if_from_file(policy: Policy) -> Policy:
    """A policy of the user's own file behind `Checked`; the package's own as they are."""
    return Checked(policy) if is_from_file(policy.name) else policy


def _check_choice(choice: object, view: View) -> None:
    if not isinstance(choice, Choice):
        raise TypeError(f"choose answered {choice!r}, which is neither a Choice nor Idle")
    for unit in choice.units:
        if unit.id not in view.ready:
            raise LookupError(f"it chose {unit}, which is not ready")
    if not choice.units:
        raise LookupError("it chose nothing")
