"""Synthetic sources: rows that are made up or repeated, by a process of arrivals."""
