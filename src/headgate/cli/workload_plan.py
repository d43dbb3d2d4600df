"""What `headgate run FILE` changes in a directory that has been used before, shown like a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgate.cli.console import note, show, show_json

if TYPE_CHECKING:
    from pathlib import Path

    from headgate.spark.workload_changes import Changes


def show_plan(changes: Changes, directory: Path, *, as_json: bool) -> None:
    """Print the plan of `--dry-run`, which changes nothing."""
    if as_json:
        show_json(plan_json(changes))
        return
    if not changes.lines:
        show(f"nothing changes in {directory}")
        return
    show(f"in {directory}, which is new, this would come:" if changes.fresh else f"in {directory} this would change:")
    for line in changes.lines:
        show(f"  {line}")


def note_plan(changes: Changes, directory: Path) -> None:
    """Tell what is about to change; a new directory has nothing to compare with."""
    if changes.fresh or not changes.lines:
        return
    note(f"in {directory} this changes, and everything else goes on where it stood:")
    for line in changes.lines:
        note(f"  {line}")


def plan_json(changes: Changes) -> dict[str, Any]:
    """The plan for machines."""
    return {
        "changes": [
            {"change": _WORDS[line.sign], "kind": line.kind, "name": line.name, "details": list(line.details)}
            for line in changes.lines
        ]
    }


_WORDS = {"+": "add", "~": "change", "-": "remove"}
