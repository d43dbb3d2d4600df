"""What is done about a Spark that lives and yet does not work: held cores, a lost cluster, a Java that does not answer.

Spark ends a cancelled task only where the task looks whether it is to end. One that computes a single value for hours
keeps its core, though nobody waits for it; and a cluster whose master was started anew has no executors for those who
were connected before. Only a new Java process helps.
"""

from __future__ import annotations

from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.lifecycle import QueryState
from headgate.spark.machine.messages import Answer, Lingering, SparkSeen
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.tasks import KillSpark

LINGER = 30.0  # seconds that what was cancelled may go on
ALL_HELD = 5.0  # the same if all cores are held: nobody else gets anything done
LOST = 20.0  # seconds without an executor after which a cluster is lost
SILENCE = 60.0  # seconds that Java may not answer
_SHORT = 2.0  # seconds that are not worth telling
_NAMED = 3  # queries that are named


class SparkWatch:
    """Says what is wrong with Spark and, if it is ours, ends it when that lasts: then it is started again."""

    def __init__(self, context: MachineContext, runs: Runs) -> None:
        self.note = ""  # what is wrong now, for users
        self._context, self._runs = context, runs

    def seen(self, message: SparkSeen) -> None:
        """Judge what Spark does."""
        self.note = _note(message)
        reason = _reason(message)
        if not reason or self._runs.end_reason or self._runs.restart_reason or self._runs.restart_error:
            return
        if self._runs.closing:
            self._runs.leave()
            return
        self._runs.end_reason = f"Spark is started again: {reason}"
        self._runs.blameless = not message.silent  # a Java that does not answer has as good as died of what it runs
        self._context.log("error", "Spark is ended", why=reason)
        self._suspect(message.lingering)
        self._context.submit(KillSpark(reason), self._ended)

    def _suspect(self, lingering: tuple[Lingering, ...]) -> None:
        """A query whose cancelled run did not end runs alone, and for a short time, if that happens again."""
        for name in {name for each in lingering for name in each.queries}:
            if (life := self._context.lives.get(name)) is not None and life.state is not QueryState.STOPPED:
                life.suspicion.java_died()

    def _ended(self, answer: Answer) -> None:
        """Those who used Spark have got errors, which lead to the restart."""
        self.note = ""
        if answer.error is not None:
            self._context.log("error", "Spark could not be ended", why=self._context.explain(answer.error))


def _reason(seen: SparkSeen) -> str:
    """Why Spark must be started again; empty if it need not."""
    if seen.silent >= SILENCE:
        return f"Java has not answered for {seen.silent:.0f} s"
    if seen.had_executors and seen.without_executors >= LOST:
        return f"the cluster is lost: there has been no executor for {seen.without_executors:.0f} s"
    lasting = [each for each in seen.lingering if each.seconds >= ALL_HELD]
    # On a cluster, Spark itself ends and replaces an executor whose tasks do not end.
    all_held = 0 < seen.cores <= sum(each.tasks for each in lasting)
    over = any(each.seconds >= LINGER and (seen.cores or not each.tasks) for each in lasting)
    return _held(seen) if all_held or over else ""


def _note(seen: SparkSeen) -> str:
    """What is wrong, as `status` tells it."""
    if seen.silent > _SHORT:
        return f"Java has not answered for {seen.silent:.0f} s"
    if seen.without_executors > _SHORT:
        return f"Spark has no executor, for {seen.without_executors:.0f} s: runs wait"
    return _held(seen)


def _held(seen: SparkSeen) -> str:
    """Which cores are held by whom."""
    lasting = [each for each in seen.lingering if each.seconds > _SHORT]
    if not lasting:
        return ""
    names = sorted({name for each in lasting for name in each.queries})
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    by = f" of {', '.join(names[:_NAMED])}{more}" if names else ""
    tasks = sum(each.tasks for each in lasting)
    of = f"{tasks} of {seen.cores} cores" if seen.cores else f"{tasks} cores"
    what = f"{of} held" if tasks else "Spark's planning is held up"
    return f"{what} by cancelled runs{by}, which do not end, for {max(each.seconds for each in lasting):.0f} s"
