"""What one tenant sees of the engine and may do with it, by its own names."""

from headgate.server.workspace.workspace import Workspace

__all__ = ["Workspace"]
