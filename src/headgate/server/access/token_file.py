"""The tokens of a data directory, in `access/tokens.json`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headgate.model import ConflictError, HeadgateError, unknown
from headgate.server.access import files
from headgate.server.access.roles import Role
from headgate.server.access.tokens import Token, TokenState, new_token
from headgate.spark.store.directory import ACCESS

FILE, KIND = "tokens.json", "tokens"
Tokens = Mapping[str, Token]  # by id


class TokenFile:
    """Adds, lists and revokes tokens; a server that reads the same file notices it at the next request."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.time) -> None:
        self._directory, self._clock = directory, clock
        self._watched = files.Watched(directory / ACCESS / FILE, KIND, _read)

    def tokens(self) -> Tokens:
        """All tokens, also those that have expired or were revoked."""
        return self._watched.value()

    def add(self, name: str, role: Role, tenant: str = "", lifetime: float | None = None) -> tuple[Token, str]:
        """A new token, and its text; the name of one that is no longer valid may be used again."""
        now = self._clock()
        token, text = new_token(name, role, tenant, None if lifetime is None else now + lifetime, now=now)

        def added(tokens: list[Token]) -> list[Token]:
            others = [other for other in tokens if other.name != name]
            if any(other.name == name and other.state(now) is TokenState.VALID for other in tokens):
                hint = "choose another name, or revoke that one first"
                raise ConflictError(f"there is a token '{name}' already", hint=hint)
            return [*others, token]

        self._change(added)
        return token, text

    def revoke(self, name: str) -> Token:
        """Let a token open nothing any more."""
        now = self._clock()
        found: list[Token] = []

        def revoked(tokens: list[Token]) -> list[Token]:
            if all(token.name != name for token in tokens):
                raise unknown("token", name, [token.name for token in tokens])
            changed = [replace(t, revoked=t.revoked or now) if t.name == name else t for t in tokens]
            found.extend(token for token in changed if token.name == name)
            return changed

        self._change(revoked)
        return found[0]

    def _change(self, change: Callable[[list[Token]], list[Token]]) -> None:
        with files.changing(self._directory) as folder:
            before = list(_read(files.read(folder / FILE, KIND)).values())
            files.write(folder / FILE, KIND, [token.to_json() for token in change(before)])


class NoTokens(TokenFile):
    """For a server that has no directory: there are no tokens, and none can be added."""

    def __init__(self) -> None:
        super().__init__(Path("no-directory"))

    def tokens(self) -> Tokens:
        return MappingProxyType({})

    def _change(self, change: Callable[[list[Token]], list[Token]]) -> None:
        raise HeadgateError("this server keeps no tokens", hint="start it with headgate serve")


def _read(content: Any) -> Tokens:
    tokens = [Token.from_json(entry) for entry in content or ()]
    return MappingProxyType({token.id: token for token in tokens})
