"""The examples of docs/client.md, which are those of the docstrings, on a server."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest
from tests.server.http_client import Http

from headgate.client import Client, Handle

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
BLOCK = re.compile(r"^```pycon\n(.*?)^```", re.DOTALL | re.MULTILINE)
MEMBERS = [
    (f"{kind.__name__}.{name}", member)
    for kind in (Client, Handle)
    for name, member in vars(kind).items()
    if not name.startswith("_")
]


def test_the_examples_print_what_they_show(http: Http) -> None:
    text = "\n".join(BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    text = text.replace("127.0.0.1:8440", f"127.0.0.1:{http.port}")
    program = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    printed: list[str] = []
    results = doctest.DocTestRunner().run(program, out=printed.append)
    assert results.attempted > 30
    assert not results.failed, "".join(printed)


@pytest.mark.parametrize(("name", "member"), [pytest.param(*member, id=member[0]) for member in MEMBERS])
def test_every_word_says_what_its_parameters_are(name: str, member: object) -> None:
    text = inspect.getdoc(member) or ""
    assert text, name
    names = set(inspect.signature(member).parameters) - {"self"} if callable(member) else set()
    assert len(names) < 2 or [one for one in names if f"`{one}`" not in text] == []
