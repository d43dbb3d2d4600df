"""Carrying out what the engine's state machine hands out: Spark jobs, commits, deliveries."""
