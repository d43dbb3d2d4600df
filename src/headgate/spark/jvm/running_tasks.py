"""What runs on Spark's executors: how many there are, and which job groups have tasks, also after they were cancelled.

Spark's own status forgets the tasks of a cancelled job. Its scheduler keeps each task until the executor says that it
has ended.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark import SparkContext


def tasks_of_groups(context: SparkContext) -> Counter[str]:
    """The number of tasks by job group."""
    tasks: Counter[str] = Counter()
    managers = _scheduler(context).taskIdToTaskSetManager().elements()
    while managers.hasMoreElements():
        properties = managers.nextElement().taskSet().properties()
        tasks[(properties and properties.getProperty("spark.jobGroup.id")) or ""] += 1
    return tasks


def executors(context: SparkContext) -> int:
    """How many executors take tasks now."""
    return int(_scheduler(context).runningTasksByExecutors().size())


def _scheduler(context: SparkContext) -> Any:
    java: Any = context._jsc
    return java.sc().taskScheduler()
