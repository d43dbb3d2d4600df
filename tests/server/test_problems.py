"""What clients are told of things that are not their fault."""

from __future__ import annotations

import errno
import json
import logging
import socket
import time

import pytest
from tests.server.conftest import no_engine, serving

from headgate.server import problems
from headgate.server.access.open import OpenAccess
from headgate.server.settings import Limits
from headgate.spark.store.atomic_files import disk_error


@pytest.mark.parametrize("space", ["", "acme"])
def test_a_full_disk_is_no_fault_of_the_request(space: str) -> None:
    error = disk_error(OSError(errno.ENOSPC, "No space left on device"), "/srv/data/streams/acme..s/1.tail")
    answer = problems.of_error(error.at("somewhere"), space)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    told = json.loads(bytes(answer.body))
    assert ("/srv/data" in told["detail"]) is (space == "")  # its directories are the operator's business
    assert "disk" in told["detail"]


def test_who_goes_in_the_middle_of_a_body_leaves_no_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with serving(no_engine(), OpenAccess(), Limits()) as http, caplog.at_level(logging.ERROR):
        head = f"POST /v1/classes HTTP/1.1\r\nHost: 127.0.0.1:{http.port}\r\nIdempotency-Key: k\r\n"
        with socket.create_connection(("127.0.0.1", http.port)) as connection:
            connection.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
            time.sleep(0.2)
        assert http.get("/v1/health/live").status == 200
        time.sleep(0.2)
    assert caplog.records == []
