"""Writing pictures to files; matplotlib is imported only when a picture is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headgate.metrics.pictures.style import SETTINGS
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
DOTS_PER_INCH = 150


def write_picture(
    compose: Callable[[], Figure], path: str | PathLike[str], settings: Mapping[Any, Any] = SETTINGS
) -> None:
    """Write the figure that `compose` makes under the settings; the file's extension names the format."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise HeadgateError(f"cannot draw a picture as '{suffix or path}'", hint=f"use one of {', '.join(FORMATS)}")
    import matplotlib

    with matplotlib.rc_context(dict(settings)), warnings.catch_warnings():
        # Names may have letters that the font lacks: they are drawn as boxes, which people see without being told.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = compose()
        try:
            figure.savefig(path, format=suffix, dpi=DOTS_PER_INCH, facecolor="white")
        except OSError as error:
            raise HeadgateError(f"cannot write the picture: {error}", hint="choose another path") from error
