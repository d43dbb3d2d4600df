"""What is on disk: stream logs, the commit log, sinks, dead letters. No Spark, no scheduler."""
