"""Queries that run: where each stands in its streams, its fragments and their logs, and what must be kept for it."""
