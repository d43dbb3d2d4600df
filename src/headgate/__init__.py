"""Headgate: which continuous query runs next, and on how many tuples."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate.client import Client
    from headgate.model.errors import BusyError, ConflictError, HeadgateError
    from headgate.spark.session import Session

__all__ = ["BusyError", "Client", "ConflictError", "HeadgateError", "Session", "__version__"]
__version__ = "0.1.0"


def __dir__() -> list[str]:
    """What there is to use: for completion in a notebook or a shell."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Imported only when asked for: Spark takes a while, and the command line must be able to answer Ctrl-C first."""
    if name == "Session":
        from headgate.spark.session import Session

        return Session
    if name == "Client":
        from headgate.client import Client

        return Client
    if name in ("HeadgateError", "ConflictError", "BusyError"):
        from headgate.model import errors

        return getattr(errors, name)
    raise AttributeError(f"module 'headgate' has no attribute '{name}'")
