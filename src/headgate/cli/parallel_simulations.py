"""Simulations of several policies in parallel, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any

from headgate.cli.signals import held_back, postponed
from headgate.metrics import Records, Report, measure
from headgate.model import HeadgateError
from headgate.policy_files import PolicyFile, load_policies
from headgate.workload import Workload


@dataclass(frozen=True, slots=True)
class Finished:
    """A simulation that has ended: with a report, or with an error in one line."""

    report: Report | None = None
    records: Records | None = None  # if they were to be kept
    error: str = ""


def run_all(
    workload: Workload,
    policies: Sequence[str],
    jobs: int | None,
    bin: float,
    keep: bool = False,
    equal_inverts: bool = False,
) -> Iterator[tuple[str, Finished]]:
    """Yield every policy with its result, in the order in which they finish; closing the iterator ends the rest."""
    calls = {
        policy: (run_one, workload, policy, bin, keep, equal_inverts, load_policies(policy)) for policy in policies
    }
    for policy, found in processes(calls, jobs):
        yield policy, found if isinstance(found, Finished) else Finished(error=_in_one_line(found))


def processes(calls: Mapping[str, tuple[Any, ...]], jobs: int | None) -> Iterator[tuple[str, Any]]:
    """Yield what functions return, or the exceptions they raise, in the order in which they finish.

    A call is a function and its arguments. Closing the iterator ends the rest.
    """
    workers = max(1, min(jobs or os.cpu_count() or 1, len(calls)))
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        resource_tracker.ensure_running()  # if it started below, it would let Ctrl-C through again
        # Ctrl-C reaches every process of the terminal; this one decides what it means. And a pool that is interrupted
        # while it starts its processes cannot be ended in order.
        with held_back(), postponed():
            futures = {pool.submit(*call): name for name, call in calls.items()}
        for future in as_completed(futures):
            yield futures[future], _result(future)
    except BaseException:
        _end(pool)
        raise
    pool.shutdown()


def run_one(
    workload: Workload,
    policy: str,
    bin: float,
    keep: bool,
    equal_inverts: bool = False,
    files: Sequence[PolicyFile] = (),
) -> Finished:
    """Run one simulation and measure it in the same process: a report is much smaller than the records."""
    from headgate.sim import simulate

    for file in files:
        file.load()
    records = simulate(workload, policy, bin=bin)
    return Finished(measure(records, bin, equal_inverts=equal_inverts), records if keep else None)


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenProcessPool:
        return HeadgateError("its process ended; memory may be short: try --jobs 1")
    except Exception as error:  # a faulty policy must not end the other simulations
        return error


def _in_one_line(error: Exception) -> str:
    return str(error) if isinstance(error, HeadgateError) else f"{type(error).__name__}: {error}"


def _end(pool: ProcessPoolExecutor) -> None:
    """Cancel waiting simulations and terminate running ones, so that Ctrl-C returns at once."""
    pool.shutdown(wait=False, cancel_futures=True)
    for process in multiprocessing.active_children():
        process.terminate()
    pool.shutdown()
