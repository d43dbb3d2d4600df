"""Replays under several policies, in processes of their own where that is worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headgate.cli.parallel_simulations import processes
from headgate.model import HeadgateError
from headgate.policy_files import PolicyFile, load_policies
from headgate.what_if.learned import Learned
from headgate.what_if.question import Changed
from headgate.what_if.replay import replay
from headgate.what_if.response_times import Judged

RECORDED = "the recorded policy"
WORTH_IT = 20_000  # runs in all, below which starting processes takes longer than replaying


def replay_all(
    learned: Learned, asked: Sequence[str], changed: Changed, jobs: int | None, progress: Callable[[float, str], None]
) -> Iterator[tuple[str, Judged | HeadgateError]]:
    """Yield the recorded policy and every policy asked for with what came of it, in the order in which they finish."""
    tasks = {RECORDED: (None, Changed(seed=changed.seed)), **{policy: (policy, changed) for policy in asked}}
    if jobs == 1 or learned.runs * len(tasks) < WORTH_IT:
        for number, (name, (policy, what)) in enumerate(tasks.items()):
            yield name, _here(learned, policy, what, number, name, progress)
        return
    files = [file for policy in asked for file in load_policies(policy)]  # the recorded one may be among them
    calls = {name: (_there, learned, policy, what, files) for name, (policy, what) in tasks.items()}
    for name, found in processes(calls, jobs):
        if isinstance(found, Exception) and not isinstance(found, HeadgateError):
            yield name, HeadgateError(f"{type(found).__name__}: {found}")
        else:
            yield name, found


def _here(
    learned: Learned,
    policy: str | None,
    changed: Changed,
    number: int,
    name: str,
    progress: Callable[[float, str], None],
) -> Judged | HeadgateError:
    try:
        return replay(learned, policy, changed, lambda share: progress(number + share, name))
    except HeadgateError as error:
        return error


def _there(learned: Learned, policy: str | None, changed: Changed, files: Sequence[PolicyFile]) -> Judged:
    for file in files:
        file.load()
    return replay(learned, policy, changed)
