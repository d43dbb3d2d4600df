"""Everything in the store and the sinks that changes a file does so through `store.disk`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import headgate.spark

FOLDER = Path(headgate.spark.__file__).parent
MODULES = sorted(
    str(path.relative_to(FOLDER))
    for part in ("store", "sinks", "queries")
    for path in (FOLDER / part).rglob("*.py")
    if path.name != "disk.py"
)

READING = {  # of os; whatever is not here changes something, or belongs nowhere in the store
    *("access", "close", "fsencode", "fspath", "fstat", "getpid", "kill", "listdir", "lseek", "lstat", "pathconf"),
    *("pread", "scandir", "stat", "statvfs", "strerror", "walk"),
}
CHANGING = {  # of paths, files and Arrow
    *("chmod", "hardlink_to", "link_to", "mkdir", "rename", "rmdir", "symlink_to", "touch", "unlink"),
    *("truncate", "write_bytes", "write_text", "open_output_stream", "output_stream", "memory_map", "OSFile"),
}
FORBIDDEN = {"shutil", "tempfile"}  # modules


def changes(tree: ast.AST) -> list[str]:
    """The calls in a module that change files by themselves."""
    uses = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            uses += [name for name in names if name in FORBIDDEN]
        elif isinstance(node, ast.Call) and _changes(node):
            uses.append(f"line {node.lineno}: {ast.unparse(node)}")
    return uses


def _changes(call: ast.Call) -> bool:
    match call.func:
        case ast.Name("open") | ast.Attribute(ast.Name("io"), "open"):
            return _writes(call, 1)
        case ast.Attribute(ast.Name("disk"), _):
            return False
        case ast.Attribute(ast.Attribute(ast.Name("os"), "path"), _):
            return False
        case ast.Attribute(ast.Name("os"), "open"):
            return [ast.unparse(flags) for flags in call.args[1:]] != ["os.O_RDONLY"]
        case ast.Attribute(ast.Name("os"), name):
            return name not in READING
        case ast.Attribute(_, "open"):
            return _writes(call, 0)
        case ast.Attribute(_, "replace"):
            return len(call.args) == 1 and not call.keywords  # of a path; text's takes two, a dataclass's keywords
        case ast.Attribute(_, name):
            return name in CHANGING
    return False


def _writes(call: ast.Call, place: int) -> bool:
    """Whether it opens with a mode that is not for reading; what has no mode at all may be a log's `open`."""
    modes = [*call.args[place : place + 1], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return any(isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wax+") for mode in modes)


@pytest.mark.parametrize("module", MODULES)
def test_the_store_changes_files_in_one_place(module: str) -> None:
    assert changes(ast.parse((FOLDER / module).read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "os.fsync(f)",
        "os.replace(a, b)",
        "os.open(a, os.O_RDWR)",
        "open(a, 'wb')",
        "open(a, mode='r+')",
        "path.open('a')",
        "path.unlink()",
        "path.mkdir()",
        "path.replace(other)",
        "path.write_bytes(data)",
        "import shutil",
        "from shutil import rmtree",
    ],
)
def test_a_change_elsewhere_is_found(line: str) -> None:
    assert changes(ast.parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "open(a, 'rb')",
        "open(a)",
        "os.open(a, os.O_RDONLY)",
        "disk.unlink(a)",
        "text.replace('a', 'b')",
        "replace(letter, append=0)",
    ],
)
def test_reading_and_other_things_of_that_name_are_not(line: str) -> None:
    assert not changes(ast.parse(line))
