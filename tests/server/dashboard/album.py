"""Pictures of the dashboard for the documentation: each is taken by a test, and small enough to be kept."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page

FOLDER = "HEADGATE_PICTURES"  # an environment variable: where pictures go; without it, to a temporary folder
COLOURS = 256  # a picture of all colours is three times as large, and looks the same
RARE_ONES_TOO = Image.Quantize.MAXCOVERAGE  # the colour of a class may be in a few pixels only

LOWEST = 420  # pixels: so high is a picture at least
SETTLED = 400  # milliseconds in which charts take their new size
PREPARE = """() => {
  document.activeElement?.blur?.();
  window.scrollTo(0, 0);
}"""
TOASTS = """visibility => {
  for (const toasts of document.querySelectorAll(".toasts")) toasts.style.visibility = visibility;
}"""
CONTENT = "document.querySelector('.foot')?.getBoundingClientRect().bottom + 24 || document.body.scrollHeight"


@dataclass(frozen=True)
class Album:
    """A folder of pictures."""

    folder: Path

    @classmethod
    def of(cls, name: str, otherwise: Path) -> Album:
        """The album of a page of the documentation."""
        album = cls(Path(os.environ.get(FOLDER) or otherwise) / name)
        album.folder.mkdir(parents=True, exist_ok=True)
        return album

    def take(self, page: Page, name: str, *, height: int = 860) -> None:
        """Take a picture of a page from its top, no higher than its content and `height` pixels."""
        size = page.viewport_size
        assert size is not None
        page.evaluate(PREPARE)
        content = max(int(page.evaluate(CONTENT)), LOWEST)
        page.set_viewport_size({"width": size["width"], "height": min(height, content)})
        page.wait_for_timeout(SETTLED)
        page.evaluate(TOASTS, "hidden")
        taken = page.screenshot(animations="disabled")
        page.evaluate(TOASTS, "visible")
        page.set_viewport_size(size)
        reduced(Image.open(io.BytesIO(taken)).convert("RGB")).save(self.folder / f"{name}.png", optimize=True)

    def taken(self) -> list[str]:
        """The names of the pictures that are there."""
        return sorted(path.stem for path in self.folder.glob("*.png"))


def reduced(picture: Image.Image) -> Image.Image:
    """A picture in few colours; each is the one that most of its pixels had, so that areas keep theirs exactly."""
    few = picture.quantize(COLOURS, RARE_ONES_TOO)
    places = np.asarray(few).astype(np.int64).ravel()
    colours = np.asarray(picture).astype(np.int64).reshape(-1, 3) @ (1 << 16, 1 << 8, 1)
    found, pixels = np.unique(places << 24 | colours, return_counts=True)
    palette = np.zeros(COLOURS, dtype=np.int64)
    for one in found[np.argsort(pixels, kind="stable")]:  # the most frequent come last
        palette[one >> 24] = one & 0xFFFFFF
    few.putpalette(np.stack([palette >> 16, palette >> 8 & 0xFF, palette & 0xFF], axis=1).astype(np.uint8).tobytes())
    return few


def for_the_documentation() -> bool:
    """Whether the pictures are kept: then it is worth waiting for a moment at which they show what is told."""
    return FOLDER in os.environ
