"""Cutting a running query into fragments, and joining it again, so that its results stay the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headgate.model import Level
from headgate.plan.network import Network
from headgate.plan.places import Place
from headgate.spark.compile import fragment_rows
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.frames import WholeQuery
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.prepared_query import Failure
from headgate.spark.execution.job_runner import JobRunner
from headgate.spark.queries.layout import Layout, QueryCutter
from headgate.spark.queries.retention import whole_needed_from
from headgate.spark.queries.running_query import Logs, RunningQuery


def cut_up(
    running: RunningQuery, level: Level, epoch: int, cutter: QueryCutter, runner: JobRunner, logs: Logs
) -> tuple[Layout, dict[Place, int], list[Failure]]:
    """Cut a whole query: returns its layout, the positions of its fragments, and failures of expressions.

    The fragment logs are filled with the rows that open windows and joins still need. Nothing counts until a commit
    describes the layout: fragment logs of an epoch that no commit describes are deleted at the next start.
    """
    past = whole_needed_from(running, logs)
    layout = cutter.cut(running.query, level, epoch, dict(running.positions))
    failures: list[Failure] = []
    try:
        for fragment in layout.fragments[:-1]:
            failures += _fill(running, layout, fragment, past, runner, logs)
    except BaseException:
        layout.discard()
        raise
    leaves = {place: source for fragment in layout.fragments for place, source in fragment.leaves.items()}
    log_ends = {name: log.end for name, log in layout.logs.items()}
    positions = {place: log_ends.get(source.stream, layout.base.get(place, 0)) for place, source in leaves.items()}
    return layout, positions, failures


def remaining_ranges(running: RunningQuery, fragment: Fragment) -> dict[Place, Range] | None:
    """What a fragment must still take from fragment logs before the query can be joined; None if nothing is left."""
    ranges = {}
    for place, source in fragment.leaves.items():
        position, log = running.positions[place], running.layout.logs.get(source.stream)
        ranges[place] = Range(position, position if log is None else log.end)
    return ranges if any(offsets.first < offsets.last for offsets in ranges.values()) else None


def whole_positions(running: RunningQuery, network: Network) -> dict[Place, int]:
    """The stream positions of a query whose fragment logs are empty; leaves with the same queue have the same one."""
    queues = network.inputs(running.name)
    at = {queues[place]: offset for place, offset in running.positions.items() if place in queues}
    return {place: at[queue] for place, queue in network.leaves(running.name).items()}


def _fill(
    running: RunningQuery, layout: Layout, fragment: Fragment, past: Mapping[Place, int], runner: JobRunner, logs: Logs
) -> tuple[Failure, ...]:
    """Append to a fragment log what would be there if the query had been cut from the start."""
    assert fragment.feeds is not None
    leaves = {}
    for place, source in fragment.leaves.items():
        log = layout.logs.get(source.stream)
        offsets = Range(past[place], layout.base[place]) if log is None else Range(0, log.end)
        leaves[fragment.local(place)] = Leaf(source.stream, offsets, start=offsets.first)
    below = {place: running.leaf(place, Range(past[place], at), logs) for place, at in layout.base.items()}
    whole = WholeQuery(
        running.query.plan, fragment.place, {place: replace(leaf, frontier_old=None) for place, leaf in below.items()}
    )
    all_logs = {**logs, **layout.logs}
    group = f"headgate-cut-{fragment.feeds.name}"
    result, _ = runner.run(
        group,
        f"cut {running.name}",
        lambda: fragment.prepared.run(leaves, all_logs, whole),
        queries=(running.name,),
    )
    if result.rows.num_rows:
        base = [layout.base[(*fragment.place, *local)] for local in fragment.feeds.below]
        layout.logs[fragment.feeds.name].append(
            fragment_rows.written(fragment.feeds, result.rows, base, base, 0.0), 0.0
        )
    return result.failures
