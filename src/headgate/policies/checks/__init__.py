"""Checks that every policy passes, the package's own and yours.

Register your policy, then:

>>> check("hnr, level=operator")
>>> len(CHECKS)
14

Each check is a function of the policy's string that raises AssertionError, so that a test can be crossed with them:
`@pytest.mark.parametrize("check", CHECKS)`.
"""

from __future__ import annotations

from collections.abc import Callable

from headgate.policies.checks.choice_checks import (
    chooses_only_what_can_run,
    ignores_the_order_of_candidates,
    is_idle_without_work,
    lists_no_more_than_asked,
    loses_nothing,
    repeats_itself,
)
from headgate.policies.checks.copy_checks import has_a_plain_form, survives_copying
from headgate.policies.checks.random_run import RandomRun
from headgate.policies.checks.self_description_checks import explains_its_choice, is_documented, refuses_bad_settings
from headgate.policies.checks.situation import Situation
from headgate.policies.checks.statistics_checks import (
    leaves_statistics_alone,
    reads_all_that_it_declares,
    reads_only_what_it_declares,
)

__all__ = ["CHECKS", "RandomRun", "Situation", "check"]

CHECKS: tuple[Callable[[str], None], ...] = (
    chooses_only_what_can_run,
    is_idle_without_work,
    loses_nothing,
    ignores_the_order_of_candidates,
    repeats_itself,
    lists_no_more_than_asked,
    reads_only_what_it_declares,
    reads_all_that_it_declares,
    leaves_statistics_alone,
    survives_copying,
    has_a_plain_form,
    is_documented,
    refuses_bad_settings,
    explains_its_choice,
)


def check(text: str) -> None:
    """Put one policy, named by its string, to all checks."""
    for policy_check in CHECKS:
        policy_check(text)
