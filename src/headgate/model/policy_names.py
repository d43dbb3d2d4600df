"""Names of policies that come from a file of the user's own: file and class, as `./mine.py:Mine`.

Such a name is code to be run. It counts only where the user gives it: on the command line, or to a session. What comes
from elsewhere (a workload file, a trace, a data directory) may name one, but never makes anybody read the file.
"""

from __future__ import annotations

import re

from headgate.model.errors import HeadgateError
from headgate.model.spec import Spec, Value

_FILE = re.compile(r"[/\\]|\.py(:|$)")
_AMONG_VALUES = re.compile(r"\.py:[^/\\:]*$")


def is_from_file(name: str) -> bool:
    """Whether a policy's name, without settings, is one of a file.

    >>> is_from_file("./mine.py:Mine"), is_from_file("mine.py"), is_from_file("bsd")
    (True, True, False)
    """
    return _FILE.search(name) is not None


def names_from_files(text: str) -> list[str]:
    """The names of files' policies in a policy string, also those among the candidates of another policy.

    >>> names_from_files("adaptive, candidates=[hnr, (./mine.py:Mine, x=1)]")
    ['./mine.py:Mine']
    """
    spec = Spec.parse(text)
    names = [spec.name] if is_from_file(spec.name) else []
    for value in spec.settings.values():
        names += _among(value)
    return list(dict.fromkeys(names))


def refuse_from_files(text: str) -> None:
    """Refuse a policy string of a workload file that names code to be run.

    >>> refuse_from_files("./mine.py:Mine, x=1")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: policy './mine.py:Mine' is code in a file, and a workload file must not make anybody run code; give it on the command line, as --policy ./mine.py:Mine
    """  # noqa: E501
    if names := names_from_files(text):
        message = f"policy '{names[0]}' is code in a file, and a workload file must not make anybody run code"
        raise HeadgateError(message, hint=f"give it on the command line, as --policy {names[0]}")


def same_file_and_class(name: str, other: str) -> bool:
    """Whether two names end in the same file name and class, in whatever folder.

    >>> same_file_and_class("./mine.py:Mine", "/home/ann/mine.py:Mine")
    True
    """
    return re.split(r"[/\\]", name)[-1] == re.split(r"[/\\]", other)[-1]


def _among(value: Value) -> list[str]:
    if isinstance(value, list):
        return [name for item in value for name in _among(item)]
    if not isinstance(value, str):
        return []
    named = value.removeprefix("(").removesuffix(")")
    name = named.partition(",")[0].strip()
    return [name] if _AMONG_VALUES.search(name) else []
