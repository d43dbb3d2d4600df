"""The store keeps its promises wherever its process dies, the power is cut or the disk refuses."""

from __future__ import annotations

from functools import partial

import pytest
from tests.chaos import crashes, scripts
from tests.chaos.crashes import Make

from headgate.spark.store import filesink

SCRIPTS: dict[str, Make] = {
    "log": scripts.Log,
    "log of waiting rows": partial(scripts.Log, folder="waiting/q/0"),
    "commits": scripts.Commits,
    "parquet": partial(scripts.Sink, kind="parquet"),
    "jsonl": partial(scripts.Sink, kind="jsonl"),
    "letters": scripts.Letters,
    "directory": scripts.Directory,
}


@pytest.fixture(autouse=True)
def _small_merges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesink, "FAN", 3)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_operation_may_be_the_last_one_or_fail(name: str) -> None:
    make = SCRIPTS[name]
    operations = crashes.count(make)
    assert operations > 10
    for case in crashes.cases(operations, seeds=2):
        crashes.run(make, case)
