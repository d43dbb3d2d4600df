"""Headgate: which continuous query runs next, and on how many tuples."""

__version__ = "0.1.0"
