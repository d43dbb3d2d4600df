"""What went wrong in a policy's code, and on which line."""

from __future__ import annotations

import sys
import traceback
from inspect import unwrap
from pathlib import Path

from headgate.policies.contract import Policy

_FORWARDS = str(Path(__file__).with_name("guarded.py"))  # calls policies, and is not where they fail


def failure_text(error: BaseException, kind: type[Policy], otherwise: str = "") -> str:
    """An exception with its place: the innermost line in the policy's own file, else where it was raised.

    `otherwise` is the place where no line of the policy's own is known; without, what its `choose` answered was wrong.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != _FORWARDS]
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    own = [frame for frame in frames if frame.filename == file]
    text = f"{type(error).__name__}: {error}"
    if own or (frames and not otherwise):
        frame = (own or frames)[-1]
        return f"{text} ({frame.filename}:{frame.lineno}, in {frame.name})"
    return f"{text} ({otherwise or _place_of_choose(kind)})"


def _place_of_choose(kind: type[Policy]) -> str:
    code = unwrap(kind.choose).__code__
    return f"{code.co_filename}:{code.co_firstlineno}, in choose"
