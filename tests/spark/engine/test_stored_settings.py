"""The settings that a directory remembers: given ones count, the rest is as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.model import HeadgateError
from headgate.plan.fusion import Fuse
from headgate.spark.engine.stored_settings import DEFAULT_FUSE, DEFAULT_POLICY, DEFAULT_SEED, EngineSettings, settle
from headgate.spark.machine.definitions import SETTINGS
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit


def test_what_is_given_is_remembered(tmp_path: Path) -> None:
    commits = CommitLog(tmp_path)
    assert settle(commits, None, None, None) == EngineSettings(DEFAULT_POLICY, DEFAULT_FUSE, DEFAULT_SEED)
    given = EngineSettings("hnr", Fuse.OFF, 7)
    assert settle(commits, "hnr", Fuse.OFF, 7) == given
    number = commits.number
    commits.close()
    commits = CommitLog(tmp_path)
    assert settle(commits, None, None, None) == given
    assert commits.number == number


def test_a_policy_that_is_refused_is_not_remembered(tmp_path: Path) -> None:
    commits = CommitLog(tmp_path)
    settle(commits, "hnr", None, None)
    before, number = commits.state.catalog, commits.number
    with pytest.raises(HeadgateError, match="hnrr"):
        settle(commits, "hnrr", None, None)
    assert (commits.state.catalog, commits.number) == (before, number)


def test_a_stored_policy_that_is_not_there_any_more_stays_stored_and_the_default_decides(tmp_path: Path) -> None:
    commits = CommitLog(tmp_path)
    commits.append(Commit(catalog={SETTINGS: {"policy": "./mine.py:Mine", "fuse": "off", "seed": 1}}))
    settings = settle(commits, None, None, None)
    assert (settings.policy, settings.fuse) == (DEFAULT_POLICY, Fuse.OFF)
    assert settings.policy_error.endswith(f"; {DEFAULT_POLICY} decides until it is given again")
    assert commits.state.catalog[SETTINGS]["policy"] == "./mine.py:Mine"
