"""Roles, and who asks: every route declares the role that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

ROLE, TENANTS = "x-headgate-role", "x-headgate-tenants"  # in the OpenAPI document, at every operation
CREATES = "x-headgate-idempotent"  # likewise, where an Idempotency-Key has an effect


class Role(StrEnum):
    """What somebody may do; each role may do all that those before it may."""

    PUBLIC = "public"  # needs no token
    VIEW = "view"  # read everything
    SUBMIT = "submit"  # declare streams and queries, push rows, steer queries
    OPERATE = "operate"  # change classes, policy and tables, and use the server's files

    def covers(self, needed: Role) -> bool:
        """Whether this role is enough where another is needed.

        >>> Role.SUBMIT.covers(Role.VIEW), Role.VIEW.covers(Role.SUBMIT)
        (True, False)
        """
        return _ORDER.index(self) >= _ORDER.index(needed)


_ORDER = list(Role)


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who asks: the name of a token, its role, and the tenant that it is limited to; "" for no limit."""

    name: str
    role: Role
    tenant: str = ""


ANYBODY = Principal("anybody", Role.PUBLIC)
LOCAL = Principal("local", Role.OPERATE)  # everybody, on a server that is open on loopback


def allow(role: Role, *, tenants: bool = True) -> dict[str, Any]:
    """What a route declares: who may use it. Without `tenants`, only principals who are limited to none.

    >>> allow(Role.VIEW)
    {'x-headgate-role': 'view', 'x-headgate-tenants': True}
    """
    return {ROLE: role.value, TENANTS: tenants}


def creates(role: Role, *, tenants: bool = True) -> dict[str, Any]:
    """The same for a route that creates something: it takes an `Idempotency-Key`, so that nothing is created twice.

    >>> creates(Role.SUBMIT)["parameters"][0]["name"]
    'Idempotency-Key'
    """
    key = {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "any text of your own; a request that is repeated with it gets the same answer",
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    }
    return allow(role, tenants=tenants) | {CREATES: True, "parameters": [key]}
