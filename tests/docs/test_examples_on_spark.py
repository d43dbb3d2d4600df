"""Examples of the documentation that need Spark run, all on one, and every public call is described."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.docs.generator import ROOT, generator
from tests.docs.test_docs import PAGES, blocks, named

from headgate.spark.handle import Handle
from headgate.spark.session import Session
from headgate.spark.status import Status, StatusLine

WITH_PROMPTS = [
    page
    for page in PAGES
    if any(language == "pycon" for language, _ in blocks(page)) and "headgate.Client(" not in page.read_text("utf-8")
]  # tests/server runs those that ask a server


def public_members() -> Iterator[tuple[str, object]]:
    for kind in (Session, Handle):
        yield kind.__name__, kind
        for name, member in vars(kind).items():
            if not name.startswith("_") and name != "gate":
                yield f"{kind.__name__}.{name}", member


def names_of(member: object) -> set[str]:
    """The parameters of a call; nothing for a property, nor for a handle, which only a session makes."""
    if not callable(member) or member is Handle:
        return set()
    return set(inspect.signature(member).parameters) - {"self"}


@pytest.mark.parametrize("page", [page for page in PAGES if generator.needs_spark(page)], ids=named)
def test_output_on_spark_is_current(page: Path, spark: SparkSession) -> None:
    fresh = generator.refreshed(page)
    assert page.read_text(encoding="utf-8") == fresh, "run python docs/generate.py"


@pytest.mark.parametrize("page", WITH_PROMPTS, ids=named)
def test_blocks_with_prompts_print_what_they_show(page: Path, spark: SparkSession) -> None:
    """All blocks of a page are one program."""
    text = "\n".join(text for language, text in blocks(page) if language == "pycon")
    program = doctest.DocTestParser().get_doctest(text, {}, named(page), str(page), 0)
    printed: list[str] = []
    results = doctest.DocTestRunner().run(program, out=printed.append)
    assert results.attempted > 0
    assert not results.failed, "".join(printed)


def test_the_reference_has_the_examples_of_the_docstrings() -> None:
    written = "\n".join(text for _, text in blocks(ROOT / "docs" / "python.md"))
    for name, member in public_members():
        for example in doctest.DocTestParser().get_examples(inspect.getdoc(member) or "", name):
            assert f">>> {example.source.splitlines()[0]}" in written, name


@pytest.mark.parametrize(("name", "member"), [pytest.param(*named, id=named[0]) for named in public_members()])
def test_every_public_call_says_what_its_parameters_are(name: str, member: object) -> None:
    text = inspect.getdoc(member) or ""
    assert text, name
    few = len(names_of(member)) < 2  # a single parameter may be clear from its name and the example
    assert few or [parameter for parameter in names_of(member) if f"`{parameter}`" not in text] == []


@pytest.mark.parametrize("kind", [Status, StatusLine])
def test_every_field_of_the_status_is_described(kind: type) -> None:
    text = inspect.getdoc(kind) or ""
    assert [name for name in kind.__annotations__ if f"`{name}`" not in text] == []
