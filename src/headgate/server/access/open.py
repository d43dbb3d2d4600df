"""Access without tokens: everybody on this machine may do everything."""

from __future__ import annotations

from headgate.server.access.access import Access
from headgate.server.access.token_file import NoTokens


class OpenAccess(Access):
    """Everybody may do everything."""

    def __init__(self) -> None:
        super().__init__(NoTokens(), open_without_tokens=True)
