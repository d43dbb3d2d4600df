"""Which files a look finds: by names alone, without opening any, and with an allowed folder nothing outside of it."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model import HeadgateError
from headgate.spark.ingest import listing
from headgate.spark.ingest.listing import Files, check_pattern

A_TICK = 0.02  # seconds: file systems tell times by the ticks of a clock
OUT = "it leads out of the allowed folder"


@pytest.fixture(scope="module", autouse=True)
def running() -> None:
    """Nothing here needs Spark."""


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def found(folder: Path, pattern: str = "*", within: Path | None = None) -> list[str]:
    return sorted(Files(folder, pattern, within).listed().files)


def unread(folder: Path, pattern: str = "*", within: Path | None = None) -> dict[str, str]:
    return Files(folder, pattern, within).listed().unread


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*", ["a.csv", "b.json"]),
        ("*.csv", ["a.csv"]),
        ("[ab].*", ["a.csv", "b.json"]),
        ("?.CSV", []),
        ("a.csv", ["a.csv"]),
        ("./a.csv", ["a.csv"]),
        ("*/*.csv", ["x/c.csv"]),
        ("x/*", ["x/c.csv"]),
        ("**/*.csv", ["a.csv", "x/c.csv", "x/y/d.csv"]),
        ("**/**/*.csv", ["a.csv", "x/c.csv", "x/y/d.csv"]),
        ("**/y/*", ["x/y/d.csv"]),
        ("x/**/*.csv", ["x/c.csv", "x/y/d.csv"]),
        ("x/**/y/*.csv", ["x/y/d.csv"]),
        ("**/d.csv", ["x/y/d.csv"]),
        ("**/x/**/d.csv", ["x/y/d.csv"]),
        ("*/", ["a.csv", "b.json"]),
        ("none/*", []),
        ("a.csv/*", []),
        ("***", ["a.csv", "b.json"]),
    ],
)
def test_files_that_match_a_pattern(tmp_path: Path, pattern: str, names: list[str]) -> None:
    write(tmp_path, "a.csv", "b.json", "x/c.csv", "x/y/d.csv", ".e.csv", "_f.csv", "x/.g.csv", "x/_h.csv")
    (tmp_path / "folder.csv").mkdir()
    assert found(tmp_path, pattern) == names
    assert found(tmp_path, pattern, tmp_path) == names
    assert unread(tmp_path, pattern, tmp_path) == {}


PARTS = st.sampled_from(["**", "*", "a", "a*", "?", "b.csv", "*.csv", "[ab]*", "[!a]*"])
PATHS = st.lists(st.sampled_from(["a", "ab", "b", "c"]), max_size=3)
LAST = st.sampled_from(["a", "b.csv", "ab.csv", ".b.csv", "_a"])


@settings(max_examples=200)
@given(
    paths=st.lists(st.builds(lambda folders, last: "/".join([*folders, last]), PATHS, LAST), max_size=8),
    folders=st.lists(PARTS, max_size=3),
    last=PARTS.filter(lambda part: part != "**"),
)
def test_patterns_mean_what_they_mean_to_python(paths: list[str], folders: list[str], last: str) -> None:
    pattern = "/".join([*folders, last])
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for path in paths:
            if not any((root / above).is_file() for above in Path(path).parents) and not (root / path).is_dir():
                write(root, path)
        globbed = {path for path in root.glob(pattern) if path.is_file() and path.name[0] not in "._"}
        assert found(root, pattern) == sorted(path.relative_to(root).as_posix() for path in globbed)


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "x/../../*", "..", "", ".", "**", "x/**", "/"])
def test_patterns_that_leave_the_folder_or_name_nothing_are_refused(pattern: str) -> None:
    with pytest.raises(HeadgateError, match=r"leaves the directory|names no files"):
        check_pattern(pattern)
    check_pattern("**/..a/*")


def test_a_state_changes_whenever_a_file_may_have(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"

    def replaced() -> None:
        (tmp_path / ".a.csv").write_bytes(file.read_bytes())
        shutil.copystat(file, tmp_path / ".a.csv")
        (tmp_path / ".a.csv").rename(file)

    def rewritten_with_its_former_times() -> None:
        before = file.stat()
        file.write_text("x" * before.st_size)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    file.write_text("id\n1\n")
    files = Files(tmp_path, "*")
    states = [files.listed().files]
    assert files.listed().files == states[0]
    for change in (replaced, rewritten_with_its_former_times, partial(file.write_text, "longer than before")):
        time.sleep(A_TICK)
        change()
        states.append(files.listed().files)
        assert states[-1] not in states[:-1]
        assert list(states[-1]) == ["a.csv"]


def test_names_that_are_no_text_and_that_have_signs(tmp_path: Path) -> None:
    names = [b"\xff.csv", b"a\nb.csv", b" .csv", "é.csv".encode(), b"a'b\\x.csv", b"x" * 251 + b".csv"]
    for name in names:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb"):
            pass
    assert {os.fsencode(name) for name in found(tmp_path, "*.csv", tmp_path)} == set(names)


def test_what_is_no_file_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in" / "folder.csv").mkdir(parents=True)
    os.mkfifo(tmp_path / "in" / "pipe.csv")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("in/socket.csv")
    for name in ("folder", "pipe", "none"):
        (tmp_path / "in" / f"to_{name}.csv").symlink_to(f"{name}.csv")
    assert found(tmp_path / "in") == []
    listed = Files(tmp_path / "in", "*", tmp_path / "in").listed()
    assert listed.files == {}
    assert listed.unread == {"to_pipe.csv": "it is not a file", "to_none.csv": "No such file or directory"}


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "file")
    for name in ("none", "file"):
        for within in (None, tmp_path):
            with pytest.raises(OSError):
                Files(tmp_path / name, "*", within).listed()


def test_links_are_followed_but_not_by_two_stars(tmp_path: Path) -> None:
    write(tmp_path, "in/a.csv", "in/x/b.csv", "out/c.csv", "out/y/d.csv")
    (tmp_path / "in" / "link").symlink_to("../out")
    (tmp_path / "in" / "e.csv").symlink_to("../out/c.csv")
    (tmp_path / "in" / "x" / "up").symlink_to("..")
    folder = tmp_path / "in"
    assert found(folder) == ["a.csv", "e.csv"]
    assert found(folder, "*/*") == ["link/c.csv", "x/b.csv"]
    assert found(folder, "link/*/*") == ["link/y/d.csv"]
    assert found(folder, "**/*") == ["a.csv", "e.csv", "x/b.csv"]
    assert found(folder, "**/link/*") == ["link/c.csv"]
    assert found(folder, "x/up/x/up/*") == ["x/up/x/up/a.csv", "x/up/x/up/e.csv"]
    (tmp_path / "short").symlink_to("in")
    assert found(tmp_path / "short") == ["a.csv", "e.csv"]


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder with links in it that stay, and others that lead out."""
    write(tmp_path, "in/a.csv", "in/x/b.csv", "out/secret.csv", "out/y/secret.csv", "in2/secret.csv")
    for name, target in {
        "link.csv": "a.csv",
        "deep.csv": "x/b.csv",
        "whole.csv": f"{tmp_path}/in/a.csv",
        "twice.csv": "link.csv",
        "round.csv": "../in/a.csv",
        "leaving.csv": "../out/secret.csv",
        "leaving_whole.csv": f"{tmp_path}/out/secret.csv",
        "leaving_twice.csv": "leaving.csv",
        "alike.csv": "../in2/secret.csv",
        "leaving_to_nothing.csv": "../out/none.csv",
        "nothing.csv": "none.csv",
        "folder": "x",
        "leaving_folder": "../out",
        "leaving_up": "..",
    }.items():
        (tmp_path / "in" / name).symlink_to(target)
    return tmp_path / "in"


def test_with_an_allowed_folder_only_links_to_its_files_are_followed(linked: Path) -> None:
    listed = Files(linked, "*", linked).listed()
    assert sorted(listed.files) == ["a.csv", "deep.csv", "link.csv", "round.csv", "twice.csv", "whole.csv"]
    leaving = ["alike.csv", "leaving.csv", "leaving_to_nothing.csv", "leaving_twice.csv", "leaving_whole.csv"]
    assert sorted(name for name, reason in listed.unread.items() if reason == OUT) == leaving
    assert sorted(listed.unread) == sorted([*leaving, "nothing.csv"])
    assert listed.files["link.csv"] == listed.files["a.csv"]


def test_with_an_allowed_folder_links_to_folders_are_named_where_they_would_be_followed(linked: Path) -> None:
    reason = "links to folders are not followed"
    folders = dict.fromkeys(["folder", "leaving_folder", "leaving_up"], reason)
    listed = Files(linked, "*/*.csv", linked).listed()
    assert sorted(listed.files) == ["x/b.csv"]
    assert listed.unread == folders
    assert unread(linked, "leaving_*/**/*.csv", linked) == {name: reason for name in folders if name != "folder"}
    everything = Files(linked, "**/*.csv", linked).listed()
    assert {name for name in everything.files if "/" in name} == {"x/b.csv"}
    assert not set(folders) & set(everything.unread)


def test_with_an_allowed_folder_the_folder_itself_may_be_a_link_that_stays(linked: Path) -> None:
    assert found(linked / "folder", "*", linked) == ["b.csv"]
    (linked.parent / "short").symlink_to("in")
    assert found(linked.parent / "short" / "x", "*", linked) == found(linked / "x", "*", linked.parent / "short")
    for name in ("leaving_folder", "leaving_folder/y", "leaving_up", "../out", "x/../../out", "leaving_up/out"):
        with pytest.raises(OSError, match=OUT):
            Files(linked / name, "**/*", linked).listed()


@contextmanager
def changed_before(of: Any, name: str, change: Callable[[], object]) -> Iterator[None]:
    """Change the folder once, right before a function is called."""
    function, left = getattr(of, name), [change]

    def change_first(*arguments: Any, **named: Any) -> Any:
        if left:
            left.pop()()
        return function(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of, name, change_first)
        yield
    assert not left


@pytest.mark.parametrize("pattern", ["*/*.csv", "**/*.csv", "x/*.csv"])
def test_a_folder_that_becomes_a_link_while_it_is_listed_is_left_out(linked: Path, pattern: str) -> None:
    def swap() -> None:
        (linked / "x").rename(linked / ".x")
        (linked / "x").symlink_to("../out")

    assert "x/b.csv" in found(linked, pattern, linked)
    with changed_before(listing, "inner_folder", swap):
        assert not [name for name in found(linked, pattern, linked) if "/" in name]


@pytest.mark.parametrize("pattern", ["*.csv", "*/*.csv", "**/*.csv"])
def test_what_becomes_a_link_right_after_the_names_were_listed_is_left_out(linked: Path, pattern: str) -> None:
    scan, left = os.scandir, ["a.csv", "x"]

    @contextmanager
    def then_swap(descriptor: int) -> Iterator[Iterator[os.DirEntry[str]]]:
        with scan(descriptor) as entries:
            yield entries
        while left:
            name = left.pop()
            (linked / name).rename(linked / f".{name}")
            (linked / name).symlink_to("../out" if name == "x" else "../out/secret.csv")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headgate.spark.ingest.listing.os.scandir", then_swap)
        assert Files(linked, pattern, linked).listed().files == {}
    assert not left


@pytest.mark.parametrize("pattern", ["*/*.csv", "**/*.csv"])
def test_a_folder_that_goes_while_it_is_listed_is_left_out(tmp_path: Path, pattern: str) -> None:
    write(tmp_path, "x/b.csv", "y/c.csv")
    for number, within in enumerate((None, tmp_path)):
        write(tmp_path, "x/b.csv")
        with changed_before(listing, "inner_folder", partial((tmp_path / "x").rename, tmp_path / f"z{number}")):
            names = found(tmp_path, pattern, within)
        assert "y/c.csv" in names
        assert "x/b.csv" not in names


def test_a_link_that_is_turned_while_it_is_looked_at_shows_nothing_of_what_it_leads_to(linked: Path) -> None:
    def turn() -> None:
        for name in ("link.csv", "deep.csv", "whole.csv", "twice.csv", "round.csv"):
            (linked / name).unlink()
            (linked / name).symlink_to("../out/secret.csv")

    with changed_before(listing, "open_file", turn):
        listed = Files(linked, "*", linked).listed()
    assert list(listed.files) == ["a.csv"]


def test_a_folder_that_becomes_a_link_after_it_was_resolved_is_not_listed(linked: Path) -> None:
    resolve, left = os.path.realpath, [True]

    def then_swap(path: str | os.PathLike[str]) -> str:
        resolved = resolve(path)
        if left and str(path).endswith("/x"):
            left.pop()
            (linked / "x").rename(linked / ".x")
            (linked / "x").symlink_to("../out")
        return resolved

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headgate.contained_files.os.path.realpath", then_swap)
        with pytest.raises(OSError):
            Files(linked / "x", "*", linked).listed()
    assert not left
