"""What lies below a folder is opened; what a link leads to elsewhere never is, whenever the link is put there."""

from __future__ import annotations

import errno
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.contained_files import inner_file, inner_folder, open_file, opened_folder

INSIDE, SECRET = b"inside", b"secret"
OUT = "it leads out of the allowed folder"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files; folders beside it have others under the same names."""
    for name, text in (("in", INSIDE), ("out", SECRET), ("in2", SECRET)):
        (tmp_path / name / "deep" / "deeper").mkdir(parents=True)
        for inner in ("", "deep", "deep/deeper"):
            (tmp_path / name / inner / "rows.csv").write_bytes(text)
    return tmp_path / "in"


def contents(path: Path, within: Path | None = None) -> bytes:
    with open_file(path, within) as file:
        return file.read()


def enter(path: Path, within: Path | None = None) -> list[str]:
    with opened_folder(path, within) as descriptor:
        return sorted(os.listdir(descriptor))


def error_of(call: Callable[[], object]) -> OSError:
    """The error that a call raises; it must not wait for anything."""
    raised: list[OSError | None] = []

    def run() -> None:
        try:
            call()
            raised.append(None)
        except OSError as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert raised, "it waits"
    assert raised[0] is not None, "it works"
    return raised[0]


def held_open(folder: Path) -> list[str]:
    """What this process has open in a folder."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:  # that of the listing itself
            continue
        if path.startswith(str(folder)):
            found.append(path)
    return found


STAYING = {
    "a name": ("link", "rows.csv"),
    "dots": ("link", "deep/../rows.csv"),
    "dots at the end": ("link", "deep/deeper/.."),
    "out and in again": ("link", "../in/rows.csv"),
    "absolute": ("link", "{}/in/rows.csv"),
    "a folder": ("link", "deep"),
    "an absolute folder": ("link", "{}/in/deep"),
    "the folder itself": ("link", "."),
    "the folder itself by its name": ("deep/link", "{}/in"),
    "in a folder": ("deep/link", "../rows.csv"),
}


@pytest.mark.parametrize("which", STAYING)
def test_links_that_stay_in_the_folder_are_followed(folder: Path, which: str) -> None:
    name, target = STAYING[which]
    (folder / name).symlink_to(target.format(folder.parent))
    (folder / "second").symlink_to(name)
    for path in (folder / name, folder / "second"):
        if path.is_dir():
            assert "rows.csv" in enter(path, folder)
            path /= "rows.csv"
        assert contents(path, folder) == INSIDE


LEAVING = {
    "a file": ("link", "../out/rows.csv", ""),
    "an absolute file": ("link", "{}/out/rows.csv", ""),
    "a folder": ("link", "../out", "rows.csv"),
    "an absolute folder": ("link", "{}/out", "deep/rows.csv"),
    "the folder above": ("link", "..", "out/rows.csv"),
    "the root": ("link", "/", "etc/hostname"),
    "a name that begins alike": ("link", "../in2/rows.csv", ""),
    "from a folder in it": ("deep/link", "../../out/rows.csv", ""),
    "dots behind a folder": ("link", "deep/../../out/rows.csv", ""),
    "a name that is not there": ("link", "../out/none", ""),
    "the process": ("link", "/proc/self/cwd", ""),
}


@pytest.mark.parametrize("which", LEAVING)
def test_links_that_lead_out_are_not_followed(folder: Path, which: str) -> None:
    name, target, rest = LEAVING[which]
    (folder / name).symlink_to(target.format(folder.parent))
    (folder / "second").symlink_to(name)
    for path in (folder / name / rest, folder / "second" / rest):
        for call in (open_file, enter):
            error = error_of(partial(call, path, folder))
            assert (error.errno, error.strerror) == (errno.EXDEV, OUT)


@pytest.mark.parametrize(
    "path", ["../out/rows.csv", "deep/../../out/rows.csv", "..", "../in2/rows.csv", "/etc/hostname"]
)
def test_paths_that_lead_out_are_refused(folder: Path, path: str) -> None:
    with pytest.raises(OSError, match=OUT):
        open_file(folder / path, folder)


def test_dots_behind_a_link_are_those_of_its_target(folder: Path) -> None:
    (folder / "link").symlink_to("deep/deeper")
    (folder / "away").symlink_to("../out/deep")
    (folder / "deep" / "here.csv").write_bytes(INSIDE)
    assert contents(folder / "link" / ".." / "here.csv", folder) == INSIDE
    with pytest.raises(OSError, match=OUT):
        open_file(folder / "away" / ".." / "rows.csv", folder)


def test_without_a_folder_every_link_is_followed(folder: Path) -> None:
    (folder / "link").symlink_to("../out")
    assert contents(folder / "link" / "rows.csv") == SECRET
    assert enter(folder / "link") == ["deep", "rows.csv"]


def test_the_folder_may_be_named_by_a_link_and_relative_to_the_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = folder.parent / "short"
    short.symlink_to("in")
    for path in (folder / "rows.csv", short / "rows.csv"):
        assert contents(path, folder) == contents(path, short) == INSIDE
    monkeypatch.chdir(folder.parent)
    assert contents(Path("in/rows.csv"), Path("in")) == contents(Path("in/rows.csv"), folder) == INSIDE
    with pytest.raises(OSError, match=OUT):
        open_file(Path("out/rows.csv"), Path("in"))


def test_links_in_a_circle_and_to_nothing_are_errors(folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    (folder / "gone").symlink_to("none")
    assert error_of(lambda: open_file(folder / "a", folder)).errno == errno.ELOOP
    assert error_of(lambda: open_file(folder / "a" / "rows.csv", folder)).errno in (errno.ELOOP, errno.ENOTDIR)
    assert error_of(lambda: open_file(folder / "gone", folder)).errno == errno.ENOENT


@pytest.mark.parametrize("name", [".", "deep", "pipe", "socket", "to_pipe"])
@pytest.mark.parametrize("inside", [True, False])
def test_what_is_no_file_is_refused_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, inside: bool
) -> None:
    monkeypatch.chdir(folder)
    os.mkfifo("pipe")
    Path("to_pipe").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    within = folder if inside else None
    error_of(lambda: open_file(folder / name, within))
    if not (folder / name).is_dir():
        assert isinstance(error_of(lambda: enter(folder / name, within)), NotADirectoryError)


@contextmanager
def swapped_after_the_check(swap: Callable[[], None]) -> Iterator[None]:
    """Change the folder when a name has been resolved and nothing is open so far."""
    resolve, left = os.path.realpath, [swap]

    def then_swap(path: str | os.PathLike[str]) -> str:
        found = resolve(path)
        if left:
            left.pop()()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headgate.contained_files.os.path.realpath", then_swap)
        yield
    assert not left


@pytest.mark.parametrize("part", ["deep", "deep/deeper", "deep/deeper/rows.csv"])
@pytest.mark.parametrize("target", ["{}/out/{}", "{}/in2/{}", "/proc/self/cwd", "{}/in/.kept"])
def test_a_link_that_is_put_in_the_way_after_the_check_is_not_followed(folder: Path, part: str, target: str) -> None:
    def swap() -> None:
        (folder / part).rename(folder / ".kept")
        (folder / part).symlink_to(target.format(folder.parent, part))

    path = folder / "deep" / "deeper" / "rows.csv"
    with swapped_after_the_check(swap):
        error = error_of(lambda: open_file(path, folder))
    assert error.errno in (errno.ELOOP, errno.ENOTDIR)
    assert held_open(folder) == []


@pytest.mark.parametrize("part", ["deep", "deep/deeper"])
def test_a_folder_that_becomes_a_link_after_the_check_is_not_listed(folder: Path, part: str) -> None:
    def swap() -> None:
        (folder / part).rename(folder / ".kept")
        (folder / part).symlink_to(folder.parent / "out" / part)

    with swapped_after_the_check(swap):
        assert isinstance(error_of(lambda: enter(folder / "deep" / "deeper", folder)), NotADirectoryError)
    assert held_open(folder) == []


def test_a_link_that_is_turned_to_elsewhere_after_the_check_leads_where_it_led(folder: Path) -> None:
    link = folder / "link"
    link.symlink_to("deep")

    def swap() -> None:
        link.unlink()
        link.symlink_to("../out/deep")

    with swapped_after_the_check(swap):
        assert contents(link / "rows.csv", folder) == INSIDE
    with pytest.raises(OSError, match=OUT):
        open_file(link / "rows.csv", folder)


def test_a_pipe_that_takes_a_files_place_after_the_check_is_not_waited_for(folder: Path) -> None:
    def swap() -> None:
        (folder / "rows.csv").unlink()
        os.mkfifo(folder / "rows.csv")

    with swapped_after_the_check(swap):
        assert error_of(lambda: open_file(folder / "rows.csv", folder)).strerror == "it is not a file"


def test_links_that_come_and_go_all_the_time_never_lead_out(folder: Path) -> None:
    over = threading.Event()

    def swap_on_and_on() -> None:
        number = 0
        while not over.is_set():
            number += 1
            (folder / ".next").symlink_to(("../out/deep", "deeper", "../in2")[number % 3])
            (folder / "deep").rename(folder / ".kept")
            (folder / ".next").rename(folder / "deep")
            (folder / "deep").unlink()
            (folder / ".kept").rename(folder / "deep")

    thread = threading.Thread(target=swap_on_and_on)
    thread.start()
    read, errors = set(), set()
    try:
        for _ in range(1500):
            try:
                read.add(contents(folder / "deep" / "rows.csv", folder))
            except OSError as error:
                errors.add(error.errno)
    finally:
        over.set()
        thread.join()
    assert read <= {INSIDE}
    assert errors <= {errno.EXDEV, errno.ELOOP, errno.ENOTDIR, errno.ENOENT, errno.EINVAL}
    assert held_open(folder) == []


def test_an_open_folder_stays_the_one_that_it_was(folder: Path) -> None:
    with opened_folder(folder / "deep", folder) as descriptor:
        (folder / "deep").rename(folder / ".kept")
        (folder / "deep").symlink_to("../out/deep")
        with inner_file("rows.csv", descriptor) as file:
            assert file.read() == INSIDE
        with inner_folder("deeper", descriptor, follow=False) as inner, inner_file("rows.csv", inner) as file:
            assert file.read() == INSIDE
    assert held_open(folder) == []


def test_what_is_opened_in_an_open_folder_is_no_link(folder: Path) -> None:
    (folder / "file").symlink_to("rows.csv")
    (folder / "link").symlink_to("deep")
    os.mkfifo(folder / "pipe")
    with opened_folder(folder, folder) as descriptor:
        assert error_of(lambda: inner_file("file", descriptor)).errno == errno.ELOOP
        assert error_of(lambda: inner_file("pipe", descriptor)).strerror == "it is not a file"
        with pytest.raises(NotADirectoryError), inner_folder("link", descriptor, follow=False):
            pass
        with inner_folder("link", descriptor, follow=True) as inner:
            assert os.listdir(inner)
    assert held_open(folder) == []


def test_nothing_stays_open_after_an_error(folder: Path) -> None:
    (folder / "out").symlink_to("../out")
    for path in ("deep", "deep/none", "deep/deeper/none/rows.csv", "deep/rows.csv/rows.csv", "out/rows.csv"):
        error_of(partial(open_file, folder / path, folder))
    with pytest.raises(ZeroDivisionError), opened_folder(folder / "deep", folder):
        raise ZeroDivisionError
    assert held_open(folder) == []


NAMES = ("a", "b", "c")
PLACES = st.sampled_from([f"{top}/{middle}/{name}" for top in ("in", "out") for middle in NAMES for name in NAMES])
STEPS = st.lists(st.sampled_from(["..", ".", "in", "out", *NAMES]), min_size=1, max_size=5)
TARGETS = st.builds(lambda steps, absolute: ("{}/" if absolute else "") + "/".join(steps), STEPS, st.booleans())


@settings(max_examples=150)
@given(links=st.dictionaries(PLACES, TARGETS, max_size=8), asked=STEPS)
def test_exactly_what_lies_in_the_folder_is_opened(links: dict[str, str], asked: list[str]) -> None:
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        for top, text in (("in", INSIDE), ("out", SECRET)):
            for name in NAMES:
                (root / top / name).mkdir(parents=True)
                (root / top / name / "file").write_bytes(text)
        for place, target in links.items():
            (root / place).symlink_to(target.format(root))
        for path in (root / "in" / "/".join(asked), root / "in" / "/".join(asked) / "file"):
            real = Path(os.path.realpath(path))
            if real.is_relative_to(root / "in") and real.is_file():
                assert contents(path, root / "in") == INSIDE
            else:
                with pytest.raises(OSError):
                    open_file(path, root / "in")
