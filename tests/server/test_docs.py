"""The commands of docs/server.md, run as they stand, against a server of their own."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.server.http_client import Http

PAGE = Path(__file__).parents[2] / "docs" / "server.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_commands_of_the_page_do_what_it_says(http: Http) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    text = PAGE.read_text(encoding="utf-8")
    for block in BLOCK.findall(text):
        for command in re.split(r"\n(?=curl )", block.strip()):
            done = run(command, http.port)
            time_out = 28  # curl's code for --max-time, with which a stream of events ends
            assert done.returncode in ((0, time_out) if "--max-time" in command else (0,)), command
            assert '"status":4' not in done.stdout, f"{command}: {done.stdout}"
            assert '"status":5' not in done.stdout, f"{command}: {done.stdout}"
            if "rows" in command:
                assert done.stdout == '{"accepted":2,"rejected":1}'
                wait_for_a_result(http)
            if "results" in command:
                assert "97.5" in done.stdout, command


def run(command: str, port: int) -> subprocess.CompletedProcess[str]:
    words = [word.replace("127.0.0.1:8440", f"127.0.0.1:{port}") for word in shlex.split(command)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def wait_for_a_result(http: Http) -> None:
    deadline = time.monotonic() + 60
    while http.get("/v1/queries/hot").json["tuples_out"] < 1:
        assert time.monotonic() < deadline
        time.sleep(0.1)
