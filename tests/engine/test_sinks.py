"""Sinks that fail, and tables as sinks, under a running engine."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from tests.engine.conftest import Open
from tests.engine.test_steering import COPY, eventually, ids, rows
from tests.engine.workload import PATIENCE, declare

from headgate.spark.session import Session
from headgate.spark.store import filesink
from headgate.spark.store.files import write_atomic


@pytest.fixture
def session(opened: Open) -> Session:
    made = opened()
    declare(made, ("a",))
    return made


def test_a_full_disk_suspends_the_query_whose_files_are_there(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = [True]

    def limited(path: Path, *given: Any, **more: Any) -> None:
        if full[0] and path.parent.name == "bad":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_atomic(path, *given, **more)

    monkeypatch.setattr(filesink, "write_atomic", limited)
    bad, good = (session.query(name, COPY, query_class="low") for name in ("bad", "good"))
    session.append("a", rows(0))
    assert eventually(lambda: bad.status.state == "suspended")
    assert bad.status.error == "[Errno 28] No space left on device"
    session.append("a", rows(5))
    assert session.engine.drain(PATIENCE)
    assert (ids(good), good.status.state) == (list(range(10)), "running")
    bad.resume()
    assert eventually(lambda: bad.status.state == "suspended")  # the disk is as full as before
    full[0] = False
    bad.resume()
    assert session.engine.drain(PATIENCE)
    assert (ids(bad), bad.status.state) == (list(range(10)), "running")
