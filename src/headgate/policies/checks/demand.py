"""The assertion that all checks use."""

from __future__ import annotations


def demand(condition: object, message: str) -> None:
    """Fail a check unless the condition holds."""
    if not condition:
        raise AssertionError(message)
