"""Settings that several sources share: flags and paths of files."""

from __future__ import annotations

from pathlib import Path

from headgate.model import HeadgateError
from headgate.workload.settings import Settings


def flag(settings: Settings, key: str) -> bool:
    """A setting that is true or false; false if it is not given."""
    word = settings.word(key) or "false"
    if word not in ("true", "false"):
        raise HeadgateError(f"{key} must be true or false, found {word}", hint=f"write {key}=true")
    return word == "true"


def existing(path: Path) -> Path:
    """The path, if there is a file; an error otherwise."""
    if not path.is_file():
        raise HeadgateError(f"there is no file '{path}'", hint="correct the path; it begins where the workload lies")
    return path
