"""The Spark engine: streams in durable logs, units as Spark jobs, results committed exactly once."""

import os

# Arrow looks at this when it is loaded; why it should be so: `headgate.spark.execution.memory`.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
