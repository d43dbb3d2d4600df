"""Headgate: which continuous query runs next, and on how many tuples."""

from typing import TYPE_CHECKING, Any

from headgate.model.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.spark.session import Session

__all__ = ["HeadgateError", "Session", "__version__"]
__version__ = "0.1.0"


def __dir__() -> list[str]:
    """What there is to use: for completion in a notebook or a shell."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """`headgate.Session` needs Spark, which takes a while to import: only when it is asked for."""
    if name == "Session":
        from headgate.spark.session import Session

        return Session
    raise AttributeError(f"module 'headgate' has no attribute '{name}'")
