"""Driving a policy turn by turn."""

from __future__ import annotations

from headgate.model import Answered, Choice, Outcome, Run, WorkerId
from headgate.policies.checks import Situation
from headgate.policies.checks.simple_view import SimpleView
from headgate.policies.contract import Policy
from headgate.policies.registry import create


def started(text: str, situation: Situation) -> tuple[Policy, SimpleView]:
    policy = create(text)
    view = situation.view(policy)
    renew(policy, view)
    return policy, view


def renew(policy: Policy, view: SimpleView) -> None:
    policy.changed(view)
    for unit in view.ready.values():
        policy.ready(view, unit)


def chosen(policy: Policy, view: SimpleView, worker: WorkerId = 0) -> Choice:
    choice = policy.choose(view, worker)
    assert isinstance(choice, Choice)
    return choice


def begin(policy: Policy, view: SimpleView, worker: WorkerId = 0) -> Run:
    """One decision, its run under way on one tuple."""
    choice = chosen(policy, view, worker)
    (unit,) = choice.units
    view.queues[unit.queues[0]].pop(0)
    run = view.running[worker] = Run(0, worker, choice.units, (), unit.calls, view.now)
    return run


def end(policy: Policy, view: SimpleView, run: Run, seconds: float = 1.0, answers: float | None = None) -> None:
    """The run has taken so long; its results, if any, came after so many seconds."""
    del view.running[run.worker]
    (unit,) = run.units
    answered = () if answers is None else (Answered(unit.queries[0], (answers,)),)
    policy.finished(view, run, Outcome(run, seconds, answered=answered))
    if unit.id in view.ready:
        policy.ready(view, unit)


def turn(policy: Policy, view: SimpleView, seconds: float = 1.0, answers: float | None = None) -> str:
    """One decision carried out on one tuple."""
    run = begin(policy, view)
    end(policy, view, run, seconds, answers)
    return str(run.units[0])
