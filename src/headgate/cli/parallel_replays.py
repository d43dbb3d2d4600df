"""Replays under several policies, in processes of their own where that is worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headgate.cli.parallel_simulations import processes
from headgate.model import HeadgateError
from headgate.policy_files import PolicyFile, load_policies
from headgate.what_if.ask import Inquiry
from headgate.what_if.learned import Learned
from headgate.what_if.question import Changed
from headgate.what_if.replay import replay
from headgate.what_if.response_times import Judged

RECORDED = "the recorded policy"
WORTH_IT = 20_000  # runs in all, below which starting processes takes longer than replaying


def replay_all(
    inquiry: Inquiry, jobs: int | None, progress: Callable[[float, str], None]
) -> Iterator[tuple[str | None, Judged | HeadgateError]]:
    """Yield every policy with what came of it, in the order in which they finish; None is the recorded one."""
    learned, tasks = inquiry.learned, inquiry.tasks()
    if jobs == 1 or learned.runs * len(tasks) < WORTH_IT:
        for number, (policy, changed) in enumerate(tasks.items()):
            yield policy, _here(learned, policy, changed, number, progress)
        return
    files = [
        file for policy in inquiry.policies for file in load_policies(policy)
    ]  # the recorded one may be among them
    calls = {policy or RECORDED: (_there, learned, policy, changed, files) for policy, changed in tasks.items()}
    for name, found in processes(calls, jobs):
        policy = None if name == RECORDED else name
        if isinstance(found, Exception) and not isinstance(found, HeadgateError):
            yield policy, HeadgateError(f"{type(found).__name__}: {found}")
        else:
            yield policy, found


def _here(
    learned: Learned, policy: str | None, changed: Changed, number: int, progress: Callable[[float, str], None]
) -> Judged | HeadgateError:
    try:
        return replay(learned, policy, changed, lambda share: progress(number + share, policy or RECORDED))
    except HeadgateError as error:
        return error


def _there(learned: Learned, policy: str | None, changed: Changed, files: Sequence[PolicyFile]) -> Judged:
    for file in files:
        file.load()
    return replay(learned, policy, changed)
