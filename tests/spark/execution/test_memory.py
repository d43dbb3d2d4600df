"""Freed memory is given back every few seconds, however often somebody asks for it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headgate.spark.execution import memory


def test_freed_memory_is_given_back_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now, given_back = [100.0], []
    monkeypatch.setattr(memory, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(memory, "_give_back_freed", lambda: given_back.append(now[0]))
    freed = memory.FreedMemory()
    for now[0] in (101.0, 104.9, 105.0, 105.1, 109.9, 110.5):
        freed.give_back()
    assert given_back == [105.0, 110.5]
