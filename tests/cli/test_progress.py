"""The progress bar, on a terminal of its own."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time

from headgate.cli.number_format import rough_duration
from headgate.cli.progress import TimeLeft

SCRIPT = """
import time
from headgate.cli.progress import Bar

with Bar(10, patience=0.0, what="simulations") as bar:
    bar.begin(6)
    time.sleep(0.4)
    bar.at(7, "hnr")
    time.sleep(0.4)
"""


def test_what_was_done_before_takes_no_time() -> None:
    now = [0.0]
    left = TimeLeft(100, clock=lambda: now[0])
    left.begin(90)
    assert left.seconds() is None
    now[0] = 60.0
    left.at(92)
    assert left.seconds() == 240.0
    now[0] = 70.0
    assert left.seconds() == 230.0
    now[0] = 1000.0
    assert left.seconds() == 0.0


def test_rough_durations() -> None:
    assert [rough_duration(seconds) for seconds in (0.0, 59.4, 60.0, 3599.0, 7260.0)] == [
        "1 s",
        "59 s",
        "1 min",
        "1 h 0 min",
        "2 h 1 min",
    ]


def test_a_terminal_shows_the_time_left() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stderr=theirs, env=environment):
        os.close(theirs)
        shown = b""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert "6/10 simulations" in text
    assert re.search(r"7/10 simulations .* about 1 s left +hnr", text)
