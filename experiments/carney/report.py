"""What an experiment prints: rows of numbers, and what the document says beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

VERDICTS = {True: "reproduced", False: "NOT REPRODUCED", None: "undecided, a setting is not printed"}


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of the document, and whether it was found again; None where what it needs is not printed."""

    published: str
    measured: str
    holds: bool | None


@dataclass(slots=True)
class Result:
    """A figure or table of the document, measured."""

    name: str
    title: str
    columns: Sequence[str]
    rows: list[Sequence[object]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    chosen: str = ""  # what the document does not print

    def claim(self, published: str, measured: str, holds: bool | None) -> None:
        self.claims.append(Claim(published, measured, None if holds is None else bool(holds)))

    def text(self) -> str:
        """All of it as text, columns aligned."""
        cells = [list(map(str, self.columns)), *([_cell(each) for each in row] for row in self.rows)]
        widths = [max(len(row[place]) for row in cells) for place in range(len(self.columns))]
        lines = [f"{self.name}  {self.title}"]
        lines += ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        lines += [f"  chosen: {self.chosen}"] if self.chosen else []
        for claim in self.claims:
            verdict = VERDICTS[claim.holds]
            lines += [f"  published: {claim.published}", f"  measured:  {claim.measured}: {verdict}"]
        return "\n".join(lines)


def _cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
