"""Settings that several sources have."""

from __future__ import annotations

from pathlib import Path

from headgate.model import HeadgateError
from headgate.workload.settings import Settings


def flag(settings: Settings, key: str) -> bool:
    """True or false; false if it is not there."""
    word = settings.word(key) or "false"
    if word not in ("true", "false"):
        raise HeadgateError(f"{key} must be true or false, found {word}", hint=f"write {key}=true")
    return word == "true"


def existing(path: Path) -> Path:
    """The path of a file that is there."""
    if not path.is_file():
        raise HeadgateError(f"there is no file '{path}'", hint="correct the path; it begins where the workload lies")
    return path
