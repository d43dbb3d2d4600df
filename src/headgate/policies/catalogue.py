"""Policies as plain values, for those who list them: the command line and the server."""

from __future__ import annotations

import inspect
from typing import Any

from headgate.policies.contract import Policy
from headgate.policies.settings import Setting
from headgate.stats import Stats

_TYPES = {bool: "true or false", int: "whole number", float: "number", str: "text"}


def summary(policy: type[Policy]) -> dict[str, Any]:
    """What a list says of a policy."""
    return {
        "rule": policy.rule,
        "level": policy.levels[0].value,
        "levels": [level.value for level in policy.levels],
        "source": policy.source,
    }


def details(policy: type[Policy]) -> dict[str, Any]:
    """All that a policy says of itself.

    >>> from headgate.policies.registry import find
    >>> details(find("bsd"))["family"], [one["name"] for one in details(find("bsd"))["settings"]][:2]
    ('slowdown', ['sharing', 'clusters'])
    """
    return {
        "name": policy.name,
        "family": family(policy),
        **summary(policy),
        "description": description(policy),
        "needs": {need: meaning(need) for need in sorted(policy.needs)},
        "settings": [_setting(setting) for setting in policy.all_settings()],
    }


def family(policy: type[Policy]) -> str:
    """The folder of a policy of this package; "own" for any other."""
    parts = policy.__module__.split(".")
    return parts[2] if parts[:2] == ["headgate", "policies"] and len(parts) > 3 else "own"


def description(policy: type[Policy]) -> str:
    """The docstring with its paragraphs unwrapped: who shows it has a width of its own."""
    paragraphs = inspect.cleandoc(policy.__doc__ or "It says nothing about itself.").split("\n\n")
    return "\n\n".join(text if text.startswith(">>>") else " ".join(text.split()) for text in paragraphs)


def meaning(need: str) -> str:
    """The first line of the description of a statistic that policies need."""
    return (inspect.getdoc(getattr(Stats, need, None)) or "").partition("\n")[0].rstrip(".")


def _setting(setting: Setting) -> dict[str, Any]:
    return {
        "name": setting.name,
        "type": _TYPES.get(type(setting.default), "text"),
        "default": setting.default,
        "meaning": setting.meaning,
        "choices": list(setting.choices),
        "least": setting.least,
        "most": setting.most,
    }
