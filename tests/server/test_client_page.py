"""The examples of docs/client.md, which are those of the docstrings, on a server."""

from __future__ import annotations

import doctest
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.server.conftest import Serve
from tests.server.http_client import Http

from headgate.client import Client, Handle

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
COMMANDS = PAGE.with_name("commands.md")
SHELL = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^```pycon\n(.*?)^```", re.DOTALL | re.MULTILINE)
MEMBERS = [
    (f"{kind.__name__}.{name}", member)
    for kind in (Client, Handle)
    for name, member in vars(kind).items()
    if not name.startswith("_")
]


def test_the_examples_print_what_they_show(http: Http) -> None:
    """All blocks are one program."""
    text = "\n".join(BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    text = text.replace("127.0.0.1:8440", f"127.0.0.1:{http.port}")
    program = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    printed: list[str] = []
    results = doctest.DocTestRunner().run(program, out=printed.append)
    assert results.attempted > 30
    assert not results.failed, "".join(printed)


def test_the_commands_of_the_page_run(serve: Serve, tmp_path: Path) -> None:
    http = serve()
    (block,) = [one for one in SHELL.findall(COMMANDS.read_text(encoding="utf-8")) if "stream push" in one]
    headgate = tmp_path / "headgate"
    headgate.write_text(f"#!{sys.executable}\nfrom headgate.cli.entry import run\nrun()\n")
    headgate.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    asked = {**os.environ, "PATH": path, "HEADGATE_SERVER": f"http://127.0.0.1:{http.port}", "HOME": str(tmp_path)}
    done = subprocess.run(["sh", "-ec", block], env=asked, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "machine  temp\noven     97.5\n"), done.stderr


@pytest.mark.parametrize(("name", "member"), [pytest.param(*member, id=member[0]) for member in MEMBERS])
def test_every_word_says_what_its_parameters_are(name: str, member: object) -> None:
    text = inspect.getdoc(member) or ""
    assert text, name
    names = set(inspect.signature(member).parameters) - {"self"} if callable(member) else set()
    assert len(names) < 2 or [one for one in names if f"`{one}`" not in text] == []
