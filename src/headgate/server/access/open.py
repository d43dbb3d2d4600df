"""Access without tokens: everybody on this machine may do everything."""

from __future__ import annotations

from fastapi import Request

from headgate.server.access.roles import LOCAL, Principal, Role


class OpenAccess:
    """Everybody is the local operator."""

    def principal(self, request: Request, needed: Role) -> Principal:
        return LOCAL
