"""Which server to ask, and with which token: from arguments, the environment, or the profile file.

    # ~/.config/headgate/config.toml, readable by its owner alone
    [profile.default]
    server = "https://streams.example.org:8440"
    token = "…"
    ca = "/etc/ssl/our-authority.pem"    # for a certificate that the system does not know

A token belongs to the server that its profile names, and is sent to no other.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headgate.model import HeadgateError, unknown
from headgate.model.values import as_text

SERVER, TOKEN = "HEADGATE_SERVER", "HEADGATE_TOKEN"  # variables of the environment
USUAL = "http://127.0.0.1:8440"  # where `headgate serve` listens if nobody says otherwise
DEFAULT = "default"  # the profile, if none is named
_KEYS = ("server", "token", "ca")


@dataclass(frozen=True, slots=True)
class Address:
    """A server, what to prove oneself with, and what the user should know about how that was found."""

    url: str
    token: str | None = None
    ca: str | None = None  # file of the authority that signed the server's certificate
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:  # no token in a log or a traceback
        return f"Address({self.url!r})"

    @property
    def secure(self) -> bool:
        return self.url.startswith("https:")

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or (443 if self.secure else 80)

    @property
    def path(self) -> str:
        """What stands before `/v1`, for a server behind a proxy."""
        return urlsplit(self.url).path


def find(
    url: str | None = None,
    token: str | None = None,
    profile: str | None = None,
    ca: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Address:
    """The server and token: those given, else those of the environment, of a profile, or the usual address.

    >>> find("http://127.0.0.1:9000/", environment={"HEADGATE_TOKEN": "s3cret", "HOME": "/nowhere"})
    Address('http://127.0.0.1:9000')
    """
    file = profile_file(environment)
    profiles = read_profiles(file)
    if profile is not None and profile not in profiles:
        raise unknown("profile", profile, profiles, where=str(file))
    if url is not None and profile is not None:
        raise HeadgateError("a server and a profile are both given", hint="leave one of them out")
    chosen = profiles.get(profile or DEFAULT, {})
    named = url or (None if profile else environment.get(SERVER)) or chosen.get("server") or USUAL
    server = checked_url(named)
    known = next((one for one in (chosen, *profiles.values()) if _is_of(one, server)), {})
    secret = token or environment.get(TOKEN) or known.get("token")
    return Address(server, _checked_token(secret), ca or known.get("ca"), _notes(file, known, server, secret))


def profile_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where profiles are."""
    folder = environment.get("XDG_CONFIG_HOME") or f"{environment.get('HOME', '')}/.config"
    return Path(folder) / "headgate" / "config.toml"


def read_profiles(file: Path) -> dict[str, dict[str, str]]:
    """The profiles of a file by name; none if there is no file."""
    try:
        tree = tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise HeadgateError(f"this is not TOML: {error}", where=str(file), hint="correct it") from None
    profiles = tree.get("profile", {})
    if not isinstance(profiles, dict):
        raise HeadgateError(f"profile must be a table, found {as_text(profiles)}", where=str(file), hint=_example())
    return {name: _checked(profile, f"{file}: profile {name}") for name, profile in profiles.items()}


def checked_url(text: str) -> str:
    """The address of a server as it is used: without a slash at the end, and never with a secret in it.

    >>> checked_url("127.0.0.1:8440"), checked_url("https://host/headgate/")
    ('http://127.0.0.1:8440', 'https://host/headgate')
    """
    full = text.strip() if "://" in text else f"http://{text.strip()}"
    try:
        parts = urlsplit(full)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine or not full.isprintable() or " " in full:
        raise HeadgateError(f"{as_text(text)} is not the address of a server", hint=f'write "{USUAL}"')
    if parts.username is not None or parts.query or parts.fragment:
        raise HeadgateError(
            "an address has no user, token or question in it",
            hint=f"put the token into {TOKEN} or a profile, where it is not logged",
        )
    return full.rstrip("/")


def _checked(profile: Any, where: str) -> dict[str, str]:
    if not isinstance(profile, dict):
        raise HeadgateError(f"must be a table, found {as_text(profile)}", where=where, hint=_example())
    for key, value in profile.items():
        if key not in _KEYS:
            raise unknown("key", key, _KEYS, where=where)
        if not isinstance(value, str) or not value.strip():
            raise HeadgateError(f"{key} must be text, found {as_text(value)}", where=where, hint=_example())
    if "server" not in profile:
        raise HeadgateError("server is missing", where=where, hint=_example())
    return profile


def _checked_token(token: str | None) -> str | None:
    if token is not None and (not token.isascii() or not token.isprintable() or " " in token):
        raise HeadgateError("the token has characters that no token has", hint="copy it again, without blanks")
    return token


def _is_of(profile: Mapping[str, str], server: str) -> bool:
    return "server" in profile and checked_url(profile["server"]) == server


def _notes(file: Path, known: Mapping[str, str], server: str, token: str | None) -> tuple[str, ...]:
    notes = []
    if "token" in known and stat.S_IMODE(file.stat().st_mode) & 0o077:
        notes.append(f"{file} has a token, and others can read it; chmod 600 {file}")
    if token and server.startswith("http:") and urlsplit(server).hostname not in ("127.0.0.1", "::1", "localhost"):
        notes.append(f"the token goes to {server} unencrypted; use https")
    return tuple(notes)


def _example() -> str:
    return f'write [profile.default] and below it server = "{USUAL}"'
