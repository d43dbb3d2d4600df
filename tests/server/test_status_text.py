"""What `headgate status` prints of a server's status."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from headgate.cli.remote.status import picture
from headgate.client.records import Status


def printed(**more: Any) -> str:
    line = {"class": "low", "state": "running", "waiting": 3, "oldest_wait": 1.0, "priority": 1.0}
    queries = {"fine": line, "stuck": line | {"stalled": 75, "oldest_wait": 0.5}}
    fields = {"engine": {"state": "ready", "seconds": 5.0}, "policy": "express", "classes": {}, "queries": queries}
    written = StringIO()
    Console(width=120, file=written).print(picture(Status(fields | more)))
    return written.getvalue()


def test_what_is_stalled_comes_first_and_a_full_disk_is_told() -> None:
    text = printed(disk={"free": 0, "full": True, "error": "/data/log: cannot write: No space left on device"})
    rows = [line.split()[0] for line in text.splitlines() if " low " in line]
    assert rows == ["stuck", "fine"]
    assert "stuck is stalled: nothing was committed for 75 s though tuples wait" in text
    assert "the disk is full: /data/log: cannot write: No space left on device" in text


def test_an_older_server_tells_nothing_of_its_disk() -> None:
    assert "disk" not in printed()
    assert "disk" not in printed(disk={"free": 10**9, "full": False})
