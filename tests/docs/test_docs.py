"""The documentation holds: links lead somewhere, examples run, generated parts are current."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer.main

from headgate.cli.main import app
from headgate.metrics import MEASURES

ROOT = Path(__file__).parents[2]
AT_THE_TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*AT_THE_TOP, *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of every code block."""
    return [(found[1], found[2]) for found in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def alone() -> list[tuple[str, str]]:
    """Python blocks that no text block follows: where each stands, and its text. The others run to be compared."""
    found = []
    for page in PAGES:
        listed = [*blocks(page), ("", "")]
        for place, (language, text) in enumerate(listed):
            if language == "python" and listed[place + 1][0] != "text":
                found.append((f"{named(page)}-{place}", text))
    return found


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = load_generator()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))
    for link in links:
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert anchor in map(slug, headings), link


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in alone()])
def test_every_python_block_runs(text: str, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, script], cwd=ROOT, check=True, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=named)
def test_generated_parts_and_output_are_current(page: Path) -> None:
    fresh = generator.refreshed(page)
    assert page.read_text(encoding="utf-8") == fresh, "run python docs/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_exists(page: Path) -> None:
    group = typer.main.get_command(app)
    known = getattr(group, "commands", {})
    for command in generator.commands(page.read_text(encoding="utf-8")):
        word = command.split()[0]
        assert word.startswith("-") or word in known, command


def test_every_page_is_on_the_map() -> None:
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.parent != ROOT}
    linked = set(LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8")))
    assert pages - linked == {"README.md"}


def test_every_family_of_measures_is_described() -> None:
    text = (ROOT / "docs" / "judging.md").read_text(encoding="utf-8")
    assert [path for path in MEASURES if f"`{path.partition('.')[0]}" not in text] == []
