"""Data freshening: which copies of a mirror to refresh how often (Carney 2005, chapter 2).

>>> from headgate.freshness import Elements, plan
>>> refreshes = plan(Elements.of(change_rate=[1, 2, 3, 4, 5], access=[1, 2, 3, 4, 5]), bandwidth=5)
>>> refreshes.frequency.round(2).tolist()
[0.33, 0.67, 1.0, 1.33, 1.67]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate.freshness.certificate import Certificate
    from headgate.freshness.elements import Elements
    from headgate.freshness.exact import Plan, general_plan, plan

__all__ = ["Certificate", "Elements", "Plan", "general_plan", "plan"]

_HOMES = {
    "Certificate": "certificate",
    "Elements": "elements",
    "Plan": "exact",
    "general_plan": "exact",
    "plan": "exact",
}


def __getattr__(name: str) -> Any:
    """Only when asked for: NumPy takes a while to import, and the command line's help does not need it."""
    if name in _HOMES:
        return getattr(import_module(f"headgate.freshness.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'headgate.freshness' has no attribute '{name}'")
