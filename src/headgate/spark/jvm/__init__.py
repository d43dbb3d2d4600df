"""Spark's Java process: its settings and start, its log, its errors, and what to do when it dies."""
