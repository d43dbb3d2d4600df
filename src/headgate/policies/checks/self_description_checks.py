"""Checks of a policy's documentation, its errors for bad settings, and its explanations of decisions."""

from __future__ import annotations

import doctest
import io
import sys
from contextlib import redirect_stdout
from typing import Any

from headgate.model import Choice, HeadgateError, Spec
from headgate.policies.checks.demand import demand
from headgate.policies.checks.random_run import RandomRun
from headgate.policies.contract import View
from headgate.policies.registry import create
from headgate.policies.settings import Setting


def is_documented(text: str) -> None:
    """Its class has a summary, its document, its rule in a few words, and an example that runs."""
    kind = type(create(text))
    written = kind.__doc__ or ""
    summary = written.strip().split("\n")[0]
    demand(summary.endswith("."), f"the docstring of {kind.__name__} does not start with one sentence: '{summary}'")
    demand(kind.source, f"{kind.__name__} names no document; set `source`")
    demand(kind.rule, f"{kind.__name__} does not say what wins; set `rule`")
    example = doctest.DocTestParser().get_doctest(
        written, dict(vars(sys.modules[kind.__module__])), kind.__name__, None, None
    )
    demand(example.examples, f"the docstring of {kind.__name__} has no example")
    report = io.StringIO()
    with redirect_stdout(report):
        result = doctest.DocTestRunner(verbose=False).run(example)
    demand(not result.failed, f"the example of {kind.__name__} fails:\n{report.getvalue()}")


def refuses_bad_settings(text: str) -> None:
    """A setting out of its range, or unknown, is refused, and its default is not."""
    kind = type(create(text))
    for setting in kind.all_settings():
        kind(**{setting.name: setting.default})
        for bad in _bad(setting):
            _refused(str(Spec(kind.name, {setting.name: bad})), setting.name)
    _refused(f"{kind.name}, no-such-setting=1", "no-such-setting")


def _bad(setting: Setting) -> list[Any]:
    if setting.choices or isinstance(setting.default, bool):
        return ["no-such-value"]
    bad: list[Any] = [] if setting.least is None else [setting.least - 1, "no-such-value"]
    if isinstance(setting.default, int):
        bad.append(0.5)
    return bad if setting.most is None else [*bad, setting.most + 1]


def _refused(text: str, setting: str) -> None:
    try:
        create(text)
    except HeadgateError as error:
        demand(setting in str(error), f"the error of '{text}' does not name the setting: {error}")
    else:
        raise AssertionError(f"'{text}' is accepted")


def explains_its_choice(text: str) -> None:
    """The explanation names the unit that was chosen and who is next, and explaining changes no decision."""

    def ask(view: View, choice: Choice) -> None:
        why = random_run.policy.explain(view, choice)
        demand(why.winner == str(choice.units[0]), f"{text} chose {choice.units[0]} but explains {why.winner}")
        demand(why.winner != why.runner_up, f"{text} gives the winner {why.winner} as its own runner-up")
        demand(why.rule and str(why), f"{text} explains nothing")
        others = {str(unit) for unit in view.ready.values() if unit.id not in {unit.id for unit in choice.units}}
        if others:
            demand(why.runner_up in others, f"{text} gives {why.runner_up} as runner-up, but {others} could have run")
            demand(why.reason or why.runner_up_numbers, f"{text} does not say why {why.runner_up} is next")
        numbers = [*why.numbers.values(), *why.runner_up_numbers.values()]
        demand(all(number == number for number in numbers), f"{text} explains with no number: {why}")

    silent = RandomRun(create(text), seed=2).step(100).drain()
    random_run = RandomRun(create(text), seed=2)
    random_run.watch = ask
    demand(
        random_run.step(100).drain().decisions == silent.decisions, f"{text} decides differently when asked to explain"
    )
