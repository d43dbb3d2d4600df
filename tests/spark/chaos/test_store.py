"""The store keeps its promises wherever its process dies, the power is cut or the disk refuses."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from functools import partial
from itertools import islice

import pytest
from tests.spark.chaos import crashes, scripts
from tests.spark.chaos.crashes import BrokenError, Case, Make
from tests.spark.chaos.delivery import Delivery, Undelivered
from tests.spark.chaos.faultydisk import FaultyDisk

from headgate.spark.execution.recovery import _RollForward
from headgate.spark.sinks import files as file_sinks
from headgate.spark.sinks.files import FileSink

SCRIPTS: dict[str, Make] = {
    "log": partial(scripts.Log, folder="waiting/q/s"),  # as of rows that wait inside a query: folders in folders
    "commits": scripts.Commits,
    "parquet": partial(scripts.Sink, kind="parquet"),
    "jsonl": partial(scripts.Sink, kind="jsonl"),
    "letters": scripts.Letters,
    "directory": scripts.Directory,
    "delivery": Delivery,
    "delivery otherwise": partial(Delivery, seed=1),
    "undelivered": Undelivered,
}
STRIDES = {
    "delivery": 13,
    "delivery otherwise": 13,
    "undelivered": 3,
}  # of so many cases one: they are many, and take long


def deaths(name: str, seed: int = 1) -> list[Case]:
    """A power cut at every operation, the latest first: the more has been promised, the more can be lost."""
    return [Case(number, 0, "cut", seed) for number in range(crashes.count(SCRIPTS[name]) + 1, 0, -1)]


def broken(name: str, case: Case, disk: type[FaultyDisk] = FaultyDisk, holes: float = 0.0) -> str:
    """What is told of a case that fails, nothing if it does not."""
    try:
        crashes.run(SCRIPTS[name], case, disk, holes)
    except BrokenError as error:
        return str(error)
    return ""


@pytest.fixture(autouse=True)
def _small_merges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_sinks, "FAN", 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_every_operation_may_be_the_last_one_or_fail(name: str) -> None:
    make = SCRIPTS[name]
    operations = crashes.count(make)
    assert operations > 10
    for case in islice(crashes.cases(operations), 0, None, STRIDES.get(name, 1)):
        crashes.run(make, case)


@pytest.mark.parametrize("name", ["log", "commits"])
def test_a_hole_in_what_was_not_acknowledged_is_refused_by_name_or_harmless(name: str) -> None:
    told = [broken(name, case, holes=1.0) for case in deaths(name)]
    refused = [each for each in told if each]
    assert all(re.search(r"\.(tail|log): the record at byte \d+ is damaged", each) for each in refused), refused
    assert 0 < len(refused) < len(told) / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "forgotten"),
    [
        ("log", "*/s/*.tail"),
        ("log", "*/waiting/q/s"),
        ("log", "*/waiting/q"),
        ("log", "*/waiting"),
        ("commits", "*.log"),
        ("commits", "*/commits"),
        ("parquet", "*.parquet.tmp"),
        ("parquet", "*/results/q"),
        ("jsonl", "*/results/q"),
        ("jsonl", "*/results"),
        ("letters", "*/s.jsonl"),
        ("letters", "*/deadletters"),
        ("delivery", "*/results/q"),
        ("delivery", "*/commits/*.log"),
        ("directory", "*/a"),
        ("directory", "*/headgate.json.tmp"),
    ],
)
def test_a_forgotten_fsync_is_found(name: str, forgotten: str) -> None:
    class Forgetful(FaultyDisk):
        def fsync(self, descriptor: int) -> None:
            if not fnmatch(str(self._opened(descriptor)[0]), forgotten):
                super().fsync(descriptor)

    assert any(broken(name, case, Forgetful) for seed in range(10) for case in deaths(name, seed))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "part"), [("delivery", FileSink), ("undelivered", _RollForward)])
def test_commits_that_are_forgotten_before_their_files_are_on_disk_are_missed(
    name: str, part: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a checkpoint, or when recovery ends."""
    monkeypatch.setattr(part, "sync", lambda _: None)
    assert any(broken(name, case) for seed in range(10) for case in deaths(name, seed)[::-1])
