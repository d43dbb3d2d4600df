"""Settings that several sources share: flags and paths of files."""

from __future__ import annotations

from pathlib import Path

from headgate.contained_files import open_file
from headgate.model import HeadgateError
from headgate.workload.settings import Settings


def flag(settings: Settings, key: str) -> bool:
    """A setting that is true or false; false if it is not given."""
    word = settings.word(key) or "false"
    if word not in ("true", "false"):
        raise HeadgateError(f"{key} must be true or false, found {word}", hint=f"write {key}=true")
    return word == "true"


def existing(path: Path, within: Path | None = None) -> Path:
    """The path, if there is a file, and in the folder `within` if one is given; an error otherwise."""
    try:
        open_file(path, within).close()
    except OSError as error:
        hint = "correct the path; it begins where the workload lies"
        missing = isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError)
        message = f"there is no file '{path}'" if missing else f"'{path}' cannot be read: {error.strerror}"
        raise HeadgateError(message, hint=hint) from None
    return path
