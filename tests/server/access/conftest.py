from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import no_engine, serving
from tests.server.http_client import Http

from headgate.server.access.access import Access
from headgate.server.access.roles import Role
from headgate.server.access.token_file import TokenFile
from headgate.server.settings import Limits


@dataclass
class Clock:
    """A clock that tests turn."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Door:
    """A server without an engine that asks for tokens, and its file of tokens."""

    http: Http
    tokens: TokenFile
    access: Access
    clock: Clock
    texts: dict[str, str] = field(default_factory=dict)

    def token(self, name: str, role: Role = Role.VIEW, tenant: str = "", lifetime: float | None = None) -> str:
        self.texts[name] = self.tokens.add(name, role, tenant, lifetime)[1]
        return self.texts[name]

    def with_token(self, text: str) -> Http:
        return Http(self.http.port, {"Authorization": f"Bearer {text}"})


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[Callable[..., Door]]:
    """Starts servers without an engine."""
    with ExitStack() as stack:

        def start(limits: Limits | None = None, *, is_open: bool = True, failures: int = 1000, **more: Any) -> Door:
            clock = Clock()
            tokens = TokenFile(tmp_path / "data", clock)
            access = Access(tokens, open_without_tokens=is_open, failures=failures, clock=clock)
            http = stack.enter_context(serving(no_engine(), access, limits or Limits(), **more))
            return Door(http, tokens, access, clock)

        yield start


@pytest.fixture
def door(doors: Callable[..., Door]) -> Door:
    return doors()
