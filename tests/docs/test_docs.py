"""The documentation holds: links lead somewhere, examples run, generated parts are current."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from tests.docs.generator import generator

import headgate
from headgate.cli.main import app
from headgate.metrics import MEASURES

ROOT = Path(__file__).parents[2]
AT_THE_TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*AT_THE_TOP, *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
DOTTED = re.compile(r"`((?:[a-zA-Z_]\w*\.)+\w+)(?:\([^`]*\))?`")  # a name in backticks, perhaps called
PACKAGES = {module.name for module in pkgutil.iter_modules(headgate.__path__)}
PATHS = re.compile(r"(?<![\w./-])(?:src|tests|benchmarks|experiments|examples|workloads|docs)/[\w/.-]+\.\w+")
TO_BE_WRITTEN = (
    "src/headgate/policies/baseline/weighted_fcfs.py",  # by the reader of CONTRIBUTING
    "docs/reproduction.md",  # by `headgate reproduce --full`
)
NOT_OURS = ("spark.log", "spark.log.1", "sweep.parquet", "spark.jars.packages")  # files, and a setting of Spark


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of every code block."""
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def scripts_without_output() -> list[tuple[str, str]]:
    """Python blocks that need no Spark and that no text block follows, with a name for each.

    The others run when output is compared.
    """
    scripts = []
    for page in PAGES:
        page_blocks = [*blocks(page), ("", "")]
        for number, (language, text) in enumerate(page_blocks):
            if language == "python" and page_blocks[number + 1][0] != "text" and generator.SESSION not in text:
                scripts.append((f"{named(page)}-{number}", text))
    return scripts


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def package_names(page: Path) -> list[str]:
    """The dotted names in a page's text that begin with one of headgate's packages, all with `headgate` in front."""
    names = DOTTED.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))
    full = [name if name.startswith("headgate.") else f"headgate.{name}" for name in names if name not in NOT_OURS]
    return [name for name in full if name.split(".")[1] in PACKAGES | set(headgate.__all__)]


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of a module or of a class in one.

    >>> exists("headgate.metrics.Report"), exists("headgate.model.Unit.level"), exists("headgate.metrics.nothing")
    (True, True, False)
    """
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        owner, _, attribute = name.rpartition(".")
        return exists(owner) and hasattr(pkgutil.resolve_name(owner), attribute)
    return True


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


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_name_of_a_module_exists(page: Path) -> None:
    assert [name for name in package_names(page) if not exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_path_in_the_repository_exists(page: Path) -> None:
    paths = [path for path in PATHS.findall(page.read_text(encoding="utf-8")) if path not in TO_BE_WRITTEN]
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in scripts_without_output()])
def test_every_python_block_runs(text: str, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, script], cwd=ROOT, check=True, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if not generator.needs_spark(page)], ids=named)
def test_generated_parts_and_output_are_current(page: Path) -> None:
    fresh = generator.refreshed(page)
    assert page.read_text(encoding="utf-8") == fresh, "run python docs/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_exists(page: Path) -> None:
    group = typer.main.get_command(app)
    command_names = getattr(group, "commands", {})
    for command in generator.commands(page.read_text(encoding="utf-8")):
        word = command.split()[0]
        assert word.startswith("-") or word in command_names, command


def test_every_page_is_on_the_map() -> None:
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.parent != ROOT}
    linked = set(LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8")))
    assert pages - linked == {"README.md"}


def test_every_family_of_measures_is_described() -> None:
    text = (ROOT / "docs" / "judging.md").read_text(encoding="utf-8")
    assert [path for path in MEASURES if f"`{path.partition('.')[0]}" not in text] == []
