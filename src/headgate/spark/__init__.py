"""The Spark engine: streams in durable logs, units as Spark jobs, results committed exactly once."""
