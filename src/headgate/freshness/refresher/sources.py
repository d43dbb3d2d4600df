"""Where copies come from: HTTP documents by conditional requests, or a function of the user's."""

from __future__ import annotations

import hashlib
import importlib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from headgate.model import HeadgateError

TIMEOUT = 30.0
NOT_MODIFIED = 304


class CopyVersion(NamedTuple):
    """The version of a copy at its last visit: the server's ETag and Last-Modified, and a digest of the content."""

    etag: str = ""
    last_modified: str = ""
    digest: str = ""


class Fetched(NamedTuple):
    """The outcome of a visit: the content if it may have changed, and the version to send with the next visit."""

    body: bytes | None
    version: CopyVersion

    def changed(self, before: CopyVersion) -> bool:
        return self.body is not None and self.version.digest != before.digest


class CopySource(Protocol):
    """Fetches one element by its key; raises `SourceError` where that fails."""

    def fetch(self, key: str, version: CopyVersion) -> Fetched: ...


class SourceError(Exception):
    """A visit that failed; the copy stays as it is."""


class HttpSource:
    """Documents by URL, with If-None-Match and If-Modified-Since: what has not changed is not sent again."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout

    def fetch(self, key: str, version: CopyVersion) -> Fetched:
        if urlsplit(key).scheme not in ("http", "https"):
            raise SourceError("is no http or https URL")
        request = urllib.request.Request(key, headers=_conditions(version))
        try:
            with _opened(request, self._timeout) as (headers, body):
                return Fetched(
                    body, CopyVersion(headers.get("ETag", ""), headers.get("Last-Modified", ""), digest(body))
                )
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == NOT_MODIFIED:
                return Fetched(None, version)
            raise SourceError(f"the server says {error.code}") from error
        except (OSError, ValueError) as error:
            raise SourceError(str(getattr(error, "reason", None) or error)) from error


class FunctionSource:
    """A user's function: key in, bytes or text out."""

    def __init__(self, function: Callable[[str], bytes | str]) -> None:
        self._function = function

    @classmethod
    def named(cls, text: str) -> FunctionSource:
        """The function `package.module:name`.

        >>> FunctionSource.named("base64:b64encode")._function.__name__
        'b64encode'
        """
        module, _, name = text.partition(":")
        try:
            return cls(getattr(importlib.import_module(module), name))
        except (ImportError, AttributeError, ValueError):
            raise HeadgateError(f"there is no function '{text}'", hint="write it as package.module:function") from None

    def fetch(self, key: str, version: CopyVersion) -> Fetched:
        try:
            content = self._function(key)
        except Exception as error:  # a user's function may fail in any way; the other elements go on
            raise SourceError(f"{type(error).__name__}: {error}") from error
        body = content.encode() if isinstance(content, str) else bytes(content)
        return Fetched(body, CopyVersion(digest=digest(body)))


def digest(body: bytes) -> str:
    """A hash of the content: many servers send the whole document although it has not changed."""
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def _conditions(version: CopyVersion) -> dict[str, str]:
    conditions = {"If-None-Match": version.etag, "If-Modified-Since": version.last_modified}
    return {name: value for name, value in conditions.items() if value}


@contextmanager
def _opened(request: urllib.request.Request, timeout: float) -> Iterator[tuple[Mapping[str, str], bytes]]:
    with urllib.request.urlopen(request, timeout=timeout) as response:
        yield response.headers, response.read()
