"""The built files of the dashboard: whether they are of the sources in web/.

The files in src/headgate/server/web are built by `make web` and kept in the repository, so that nobody needs Node to
install Headgate. `built.json` among them has digests of the sources that they were made of, and of themselves:

    python tools/web_files.py check    say whether they are of these sources
    python tools/web_files.py record   write built.json, after a build
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "web"
BUILT = ROOT / "src/headgate/server/web"
RECORD = BUILT / "built.json"
_BUILT_FROM = ("src", "public", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")


def sources() -> list[Path]:
    """The files that the page is built from."""
    found = (SOURCES / name for name in _BUILT_FROM)
    return [path for one in found for path in ([one] if one.is_file() else one.rglob("*")) if path.is_file()]


def built() -> list[Path]:
    """The files that were built."""
    return [path for path in BUILT.rglob("*") if path.is_file() and path != RECORD]


def digest(files: Iterable[Path], root: Path) -> str:
    """One number for the names and contents of files."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
        total.update(path.read_bytes())
    return total.hexdigest()


def record() -> dict[str, str]:
    """What `built.json` has when everything is up to date."""
    return {"sources": digest(sources(), SOURCES), "built": digest(built(), BUILT)}


def stale() -> str | None:
    """What is wrong with the built files; None if nothing is."""
    if not RECORD.is_file():
        return "the dashboard is not built"
    kept, now = json.loads(RECORD.read_text()), record()
    if kept["sources"] != now["sources"]:
        return "the dashboard's built files are not of the present sources in web/"
    return None if kept["built"] == now["built"] else "the dashboard's built files were changed by hand"


def main(command: str) -> None:
    """Check or record."""
    if command == "record":
        RECORD.write_text(json.dumps(record(), indent=2) + "\n")
    elif problem := stale():
        sys.exit(f"{problem}: run make web, and commit src/headgate/server/web")


if __name__ == "__main__":
    main(sys.argv[1])
