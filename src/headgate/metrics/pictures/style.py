"""Colours, line styles and fonts of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

Dashes = Literal["-", "--", ":"]

# Okabe and Ito's colours, which the colour-blind can tell apart, without the yellow that white paper swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#4D4D4D")
DASHES: tuple[Dashes, ...] = ("-", "--", ":")
HATCHES = ("", "/////", ".....")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
FEW = 5  # up to so many policies all are in colour, of more only the best three
BEST = 3
INK, QUIET, GREY = "#333333", "#777777", "#BDBDBD"
SETTINGS: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "headgate",
    "text.parse_math": False,  # a class may be called $1
}


class Style(NamedTuple):
    """How a policy is drawn."""

    colour: str
    dashes: Dashes
    hatch: str
    marker: str = ""
    strong: bool = True  # in colour and in front, not grey and behind

    @property
    def tint(self) -> str:
        """The colour on white at a quarter of its strength, opaque, so that no grid line shows through.

        >>> Style("#0072B2", "-", "").tint
        '#bfdcec'
        """
        parts = (int(self.colour[at : at + 2], 16) for at in (1, 3, 5))
        return "#" + "".join(f"{round(0.75 * 255 + 0.25 * part):02x}" for part in parts)


def style(number: int) -> Style:
    """The style of a picture's policy by its place; when the colours are used up they come again, hatched.

    >>> style(0) == style(7), style(0).colour == style(7).colour
    (False, True)
    """
    again = number // len(COLOURS) % len(DASHES)
    place = number % len(COLOURS)
    return Style(COLOURS[place], DASHES[again], HATCHES[again], MARKERS[place])


IN_GREY = Style(GREY, "-", "", strong=False)


def ranked_styles(names: Sequence[str]) -> dict[str, Style]:
    """Styles of policies in the order of their rank: a few in colours, of many the best only, the rest in grey.

    >>> [look.strong for look in ranked_styles(["a", "b", "c", "d", "e", "f"]).values()]
    [True, True, True, False, False, False]
    """
    coloured = len(names) if len(names) <= FEW else BEST
    return {name: style(number) if number < coloured else IN_GREY for number, name in enumerate(names)}
