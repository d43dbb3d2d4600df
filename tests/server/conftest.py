from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.server.http_client import Http

from headgate.model import HeadgateError
from headgate.server.access.open import OpenAccess
from headgate.server.access.resources import Resources
from headgate.server.app import create_app
from headgate.server.guard import Access
from headgate.server.hosting import EngineHost
from headgate.server.serving import Server
from headgate.server.settings import TLS, Address, Limits
from headgate.server.workspace.quotas import Quotas
from headgate.spark.session import Session

EVERYTHING = Resources(paths=(Path("/"),), tables=("*",))  # tests of other things than access use any file


def no_engine() -> EngineHost:
    """A host whose engine never starts: whatever needs it is answered with 503."""

    def refuse(tell: object) -> Session:
        raise HeadgateError("there is no engine in this test")

    return EngineHost(refuse)


@contextmanager
def serving(
    host: EngineHost,
    access: Access,
    limits: Limits,
    *,
    quotas: Quotas | None = None,
    resources: Resources = EVERYTHING,
    tls: TLS | None = None,
    hosts: Sequence[str] = (),
    proxies: Sequence[str] = (),
    port: int = 0,
) -> Iterator[Http]:
    """Run a server in a thread of this process, at a port that is free if none is given."""
    app = create_app(host, access, quotas, resources)
    server = Server(app, Address("127.0.0.1", port), limits, tls, hosts, proxies)
    over = threading.Event()
    thread = threading.Thread(target=server.run, args=(over.is_set,), daemon=True)
    thread.start()
    host.start()
    host.wait(60)
    try:
        yield Http(server.address.port)
    finally:
        over.set()
        thread.join(30)
        host.close(5)


@dataclass(frozen=True)
class Serve:
    """Starts servers, each with an engine on a directory of its own on the Spark of the tests."""

    spark: SparkSession
    folders: pytest.TempPathFactory
    stack: ExitStack

    def __call__(self, **settings: Any) -> Http:
        """Start a server that runs until the tests of the module are over."""
        return self.stack.enter_context(self.once(**settings))

    def once(
        self,
        access: Access | None = None,
        limits: Limits | None = None,
        directory: Path | None = None,
        quotas: Quotas | None = None,
        resources: Resources = EVERYTHING,
        hosts: list[EngineHost] | None = None,  # gets the host of the engine
        port: int = 0,
        **settings: Any,
    ) -> AbstractContextManager[Http]:
        """A server that runs as long as its context."""
        place = directory or self.folders.mktemp("served") / "data"
        host = EngineHost(lambda tell: Session(spark=self.spark, directory=place, **settings))
        if hosts is not None:
            hosts.append(host)
        access, limits = access or OpenAccess(), limits or Limits()
        return serving(host, access, limits, quotas=quotas, resources=resources, port=port)


@pytest.fixture(scope="module")
def serve(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    with ExitStack() as stack:
        yield Serve(spark, tmp_path_factory, stack)


@pytest.fixture(scope="module")
def http(serve: Serve) -> Http:
    """A server that is open to everybody, for the tests of a module: use names of your own in each test."""
    return serve()
