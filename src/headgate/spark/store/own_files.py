"""Files that Headgate writes for itself, and that it does not read as anybody's rows.

The files of a query's results are merged into new ones now and then (`sinks.files`): whoever takes new files for new
rows gets rows twice, and whoever lists them meanwhile may lack some. That is so for links to such a folder too, and for
copies that are made again and again; so files of results are known by their names, wherever they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from headgate.model import HeadgateError
from headgate.spark.store.directory import ACCESS, FOLDERS, VERSION_FILE

RESULTS = "results"
OWN_FOLDERS = frozenset((*FOLDERS, "checkpoints", ACCESS))
OWN_FILES = frozenset((VERSION_FILE, "costs.json"))
_SCHEMA = "schema.arrow"  # lies beside results
_NAME = re.compile(r"(part-\d{12,}-\d{4,}|merged-\d{12,}-\d{12,})\.(parquet|jsonl)(\.new)?")


def is_result(name: str) -> bool:
    """Whether a file is named as results are.

    >>> is_result("part-000000000017-0000.parquet"), is_result("merged-000000000001-000000000016.jsonl")
    (True, True)
    >>> is_result("part-00000-1f7a.snappy.parquet"), is_result("part-1-0.parquet")
    (False, False)
    """
    return name.startswith(("part-", "merged-")) and _NAME.fullmatch(name) is not None


def is_data_directory(names: set[str] | frozenset[str]) -> bool:
    """Whether a folder with these names in it is a data directory."""
    return VERSION_FILE in names and "commits" in names


def own_folder(path: Path) -> Path | None:
    """The folder of a data directory's own in which a path lies, links followed; None if it lies in none.

    >>> own_folder(Path("examples")) is None
    True
    """
    real = Path(os.path.realpath(path))
    for inside, above in zip((real, *real.parents), real.parents, strict=False):
        if inside.name in OWN_FOLDERS and all((above / name).exists() for name in (VERSION_FILE, "commits")):
            return inside
    return None


def not_for_sources(path: Path, *, results: bool) -> HeadgateError:
    """The refusal of a source that would read Headgate's own files."""
    if results:
        return HeadgateError(
            f"'{path}' has results of a query, which Headgate merges into new files: as a source they would come twice",
            hint="append them by a callback of that query, or copy their rows: headgate results DIR QUERY --csv > FILE",
        )
    return HeadgateError(
        f"'{path}' belongs to a data directory of Headgate, which writes and removes files there",
        hint="keep what a source reads in a folder of its own",
    )


def check_source_folder(path: Path) -> None:
    """Refuse a folder of a data directory's own as a source."""
    if (own := own_folder(path)) is not None:
        raise not_for_sources(path, results=own.name == RESULTS)


def check_table_path(path: str) -> None:
    """Refuse a table in the folder in which a query's results are, whether or not there are any yet.

    A copy of the files does not change, so it may be one; but not with the schema that lies beside them.
    """
    place = _local(path)
    if place is None:
        return
    own = own_folder(place)
    copied = (place / _SCHEMA).exists() and any(map(is_result, os.listdir(place)))
    if copied or (own is not None and own.name == RESULTS):
        raise _not_for_tables(place)


def check_table_files(files: Iterable[str]) -> None:
    """Refuse a table of the files in which a query's results are: a row may be missing while they are merged."""
    for place in map(_local, files):
        if place is not None and (own := own_folder(place)) is not None and own.name == RESULTS:
            raise _not_for_tables(place.parent)


def _not_for_tables(folder: Path) -> HeadgateError:
    return HeadgateError(
        f"'{folder}' has results of a query, which Headgate merges: a table of them may lack rows",
        hint="copy them: headgate results DIR QUERY --csv > FILE, or make a DataFrame of what read() gives",
    )


def _local(path: str) -> Path | None:
    """The file that a path or a URI names; None if it is on no disk of this machine.

    >>> [str(_local(path)) for path in ("/a b/c", "file:///a%20b/c", "file:/a/c", "s3a://bucket/c")]
    ['/a b/c', '/a b/c', '/a/c', 'None']
    """
    if path.startswith("file:"):
        return Path(unquote(urlsplit(path).path))
    return None if "://" in path else Path(path)
