from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.model import HeadgateError, check_name
from headgate.spark.store.atomic_files import read_json, safe_name, write_json
from headgate.spark.store.directory import VERSION, DataDirectory, check_directory

SECOND = """
import sys
from headgate.model import HeadgateError
from headgate.spark.store.directory import DataDirectory
try:
    DataDirectory(sys.argv[1])
except HeadgateError as error:
    print(error)
"""


def test_is_made_and_opened_again(tmp_path: Path) -> None:
    for _ in range(2):
        with DataDirectory(tmp_path / "deep" / "data") as directory:
            assert directory.aside.is_dir()
            assert directory.result("a/b").parent == directory.results


def test_a_second_process_is_refused_in_one_line(tmp_path: Path) -> None:
    with DataDirectory(tmp_path):
        output = subprocess.run(
            [sys.executable, "-c", SECOND, str(tmp_path)], capture_output=True, text=True, check=True
        ).stdout
    assert len(output.splitlines()) == 1
    assert str(tmp_path) in output
    assert "in use" in output


def test_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with DataDirectory(tmp_path), pytest.raises(HeadgateError, match="in use"):
        DataDirectory(tmp_path)


def test_another_format_is_refused_and_unlocked(tmp_path: Path) -> None:
    DataDirectory(tmp_path).close()
    write_json(tmp_path / "headgate.json", {"format": 5})
    for _ in range(2):
        with pytest.raises(HeadgateError, match="has format 5, this Headgate reads formats 1, 2, 3, 4; open it with"):
            DataDirectory(tmp_path)


def test_a_damaged_version_is_refused(tmp_path: Path) -> None:
    DataDirectory(tmp_path).close()
    file = tmp_path / "headgate.json"
    file.write_text(file.read_text().replace(f'"format":{VERSION}', '"format":1'))
    with pytest.raises(HeadgateError, match=r"headgate\.json.*damaged"):
        DataDirectory(tmp_path)


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(HeadgateError, match="thesis"):
        DataDirectory(tmp_path)
    (tmp_path / "thesis.txt").unlink()
    (tmp_path / "file").touch()
    with pytest.raises(HeadgateError, match="cannot make"):
        DataDirectory(tmp_path / "file")


def test_a_refused_directory_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "draft.tmp").touch()
    (tmp_path / "file").touch()
    (tmp_path / "old").mkdir()
    write_json(tmp_path / "old" / "headgate.json", {"format": 0})
    before = sorted(tmp_path.rglob("*"))
    for name in ("full", "file", "file/below", "old", f"new/{'x' * 300}", "new/\0"):
        for refuse in (DataDirectory, check_directory):
            with pytest.raises(HeadgateError, match=f"^{re.escape(str(tmp_path))}"):
                refuse(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_directory_can_be_checked_without_making_it(tmp_path: Path) -> None:
    check_directory(tmp_path / "deep" / "data")
    assert list(tmp_path.iterdir()) == []
    with DataDirectory(tmp_path / "data"), pytest.raises(HeadgateError, match="in use"):
        check_directory(tmp_path / "data")
    check_directory(tmp_path / "data")


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_without_rights_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(HeadgateError, match="cannot make the data directory: Permission denied"):
        check_directory(tmp_path / "data")
    with pytest.raises(HeadgateError, match="cannot write: Permission denied"):
        check_directory(tmp_path)
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("where", ["lock", "streams"])
def test_a_directory_that_cannot_be_written_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    path = tmp_path / "data"
    path.mkdir()
    if where == "lock":
        monkeypatch.setattr(os, "open", refuse)
    else:
        monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(HeadgateError, match=rf"{path}.*: cannot write: Permission denied; look at the disk"):
        DataDirectory(path)
    monkeypatch.undo()
    DataDirectory(path).close()  # it was not kept locked


@example("two words")
@given(st.text(max_size=120) | st.from_regex(r"\A[\w.-]{1,110}\Z"))
def test_every_name_makes_a_short_file_name_of_its_own(name: str) -> None:
    try:
        check_name(name)
    except HeadgateError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - what is refused is refused in one line
        return
    file_name = safe_name(name)
    assert len(file_name.encode()) <= 200
    assert file_name not in (".", "..")
    assert not set(file_name) & set("/\\\0\n#")
    assert file_name == file_name.strip()  # a space is allowed between words
    assert Path("x", file_name).name == file_name


def test_a_directory_of_format_3_is_opened_and_gets_the_new_format(tmp_path: Path) -> None:
    DataDirectory(tmp_path).close()
    write_json(tmp_path / "headgate.json", {"format": 3})
    DataDirectory(tmp_path).close()
    assert read_json(tmp_path / "headgate.json") == {"format": VERSION}
