"""Writes the workload files that are too long to write by hand: `python -m workloads.make`."""

from __future__ import annotations

from pathlib import Path

from workloads.make import almoakar, carney, sharaf

FOLDER = Path(__file__).parents[1]


def files() -> dict[str, str]:
    """All texts by file name."""
    return almoakar.files() | carney.files() | sharaf.files()


def main() -> None:
    """Write them beside this package."""
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote {name}")


if __name__ == "__main__":
    main()
