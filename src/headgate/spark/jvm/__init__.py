"""Spark's Java process: how it is started and set up, what it logs, its errors, and what happens when it dies."""
