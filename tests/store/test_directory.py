from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headgate.model import HeadgateError
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.files import write_json

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
        told = subprocess.run(
            [sys.executable, "-c", SECOND, str(tmp_path)], capture_output=True, text=True, check=True
        ).stdout
    assert len(told.splitlines()) == 1
    assert str(tmp_path) in told
    assert "in use" in told


def test_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with DataDirectory(tmp_path), pytest.raises(HeadgateError, match="in use"):
        DataDirectory(tmp_path)


def test_another_format_is_refused_and_unlocked(tmp_path: Path) -> None:
    DataDirectory(tmp_path).close()
    write_json(tmp_path / "headgate.json", {"format": 3})
    for _ in range(2):
        with pytest.raises(HeadgateError, match="has format 3, this Headgate reads formats 1, 2; open it with"):
            DataDirectory(tmp_path)


def test_a_damaged_version_is_refused(tmp_path: Path) -> None:
    DataDirectory(tmp_path).close()
    file = tmp_path / "headgate.json"
    file.write_text(file.read_text().replace('"format":2', '"format":1'))
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
