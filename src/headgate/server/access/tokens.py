"""Tokens: a name, a role, perhaps a tenant, and a secret of which only the hash is kept.

The text of a token is `hg_ID_SECRET`. The secret is 32 random bytes, so nobody can try them all, and a fast hash is as
good as a slow one: slow hashes are for passwords, which people choose and which can be guessed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from headgate.model import HeadgateError, check_name
from headgate.server.access.roles import Principal, Role

PREFIX = "hg_"
TEXT = re.compile(r"hg_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_TENANT = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,28}[a-z0-9])?")


class TokenState(StrEnum):
    """Whether a token opens anything."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is stored: all but its secret. Times are seconds since the epoch."""

    id: str
    name: str
    role: Role
    tenant: str
    digest: str
    created: float
    expires: float | None = None
    revoked: float | None = None

    def state(self, now: float) -> TokenState:
        """Whether it opens anything at a time."""
        if self.revoked is not None:
            return TokenState.REVOKED
        return TokenState.EXPIRED if self.expires is not None and now >= self.expires else TokenState.VALID

    @property
    def principal(self) -> Principal:
        """Whoever asks with this token."""
        return Principal(self.name, self.role, self.tenant)

    def to_json(self) -> dict[str, Any]:
        """All fields, for the file of tokens."""
        return asdict(self)

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Token:
        known = {field.name: entry[field.name] for field in fields(cls)}
        return cls(**{**known, "role": Role(known["role"])})


def new_token(
    name: str, role: Role, tenant: str = "", expires: float | None = None, *, now: float
) -> tuple[Token, str]:
    """A new token, and the text that is shown once."""
    check_name(name, "the name of a token")
    if tenant:
        check_tenant(tenant)
    if role is Role.PUBLIC:
        raise HeadgateError("a token has the role view, submit or operate", hint="write --role view")
    identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return Token(identity, name, role, tenant, digest_of(secret), now, expires), f"{PREFIX}{identity}_{secret}"


def read_text(text: str) -> tuple[str, str] | None:
    """The id and the digest of the secret of a token's text; None if it is not such a text."""
    match = TEXT.fullmatch(text)
    return None if match is None else (match[1], digest_of(match[2]))


def digest_of(secret: str) -> str:
    """What is kept of a secret.

    >>> digest_of("x")[:12], len(digest_of("x"))
    ('2d711642b726', 64)
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def same(digest: str, other: str) -> bool:
    """Whether two digests are equal, in a time that does not tell how much of them is."""
    return hmac.compare_digest(digest, other)


def check_tenant(name: str) -> str:
    """The name of a tenant, if it is one: it begins the names of its streams and queries in the engine.

    >>> check_tenant("acme"), check_tenant("plant-7")
    ('acme', 'plant-7')
    >>> check_tenant("Acme.")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: 'Acme.' is no name of a tenant; use at most 30 small letters, digits, '-' and '_'
    """  # noqa: E501
    if _TENANT.fullmatch(name) is None:
        hint = "use at most 30 small letters, digits, '-' and '_'"
        raise HeadgateError(f"'{name[:40]}' is no name of a tenant", hint=hint)
    return name
