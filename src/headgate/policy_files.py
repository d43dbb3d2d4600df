"""Policies of the user's own, from a file: `./mine.py:Mine`.

Loading runs the file, so it happens only for names that the user gives: on the command line, or to a session. After
that the policy is known to the registry under its name as it was written, like any other.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from types import ModuleType

from headgate.model import HeadgateError, unknown
from headgate.model.policy_names import names_from_files
from headgate.policies.contract import Policy
from headgate.policies.registry import register_from_file

_LOADED: dict[str, PolicyFile] = {}  # by name


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A policy's file as it was read: enough to load the policy in another process, or on another machine."""

    name: str  # as the user wrote it: ./mine.py:Mine
    folder: str  # where the file is, for modules beside it
    text: str

    @property
    def path(self) -> str:
        """The file as the user wrote it, for messages."""
        return self.name.rpartition(":")[0]

    @property
    def class_name(self) -> str:
        return self.name.rpartition(":")[2]

    def load(self) -> None:
        """Run the file and register its policy, unless that has been done."""
        if _LOADED.get(self.name) == self:
            return
        policy = _policy(self, _run(self))
        register_from_file(self.name, policy, _place(self, self.class_name))
        _LOADED[self.name] = self


def load_policies(text: str) -> list[PolicyFile]:
    """Load what a policy string of the user names from files; returns those files, empty for policies with a name.

    A file that has changed since is loaded again.
    """
    files = [_read(name) for name in names_from_files(text)]
    for file in files:
        file.load()
    return files


def _read(name: str) -> PolicyFile:
    path, _, class_name = name.rpartition(":")
    if "://" in name:
        raise HeadgateError(f"policy '{name}' is not on this machine", hint="save the file here, look at it, name it")
    if not path.endswith(".py") or not class_name.isidentifier():
        raise HeadgateError(
            f"'{name}' does not name a policy in a file", hint="write the file and the class, as ./mine.py:Mine"
        )
    where = f"policy '{name}'"
    try:
        if not Path(path).is_file():
            there = Path(path).exists()
            problem = f"'{path}' is not a file" if there else f"there is no file '{path}'"
            raise HeadgateError(problem, where=where, hint="name a Python file")
        return PolicyFile(name, str(Path(path).resolve().parent), decode_source(Path(path).read_bytes()))
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise HeadgateError(f"'{path}': {reason}", where=where, hint="check the path") from None
    except (SyntaxError, UnicodeDecodeError):  # an encoding that is unknown, or not the one of the text
        raise HeadgateError(f"'{path}' is not UTF-8 text", where=where, hint="save it as UTF-8") from None


def _run(file: PolicyFile) -> ModuleType:
    """The file as a module, under a name that no import reaches."""
    module = ModuleType(f"{Path(file.path).stem}@{hashlib.sha256((file.folder + file.path).encode()).hexdigest()[:12]}")
    module.__file__ = file.path
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module  # dataclasses and pickle look there
    try:
        code = compile(file.text, file.path, "exec", dont_inherit=True)
        with _folder_on_path(file.folder):
            exec(code, module.__dict__)
    except BaseException as error:
        sys.modules.pop(module.__name__)
        if before is not None:
            sys.modules[module.__name__] = before
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _failed(file, error) from error
    return module


@contextmanager
def _folder_on_path(folder: str) -> Iterator[None]:
    """Let the file import modules beside it, as a script does."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _failed(file: PolicyFile, error: BaseException) -> HeadgateError:
    if isinstance(error, SyntaxError) and error.filename == file.path:
        return HeadgateError(f"is not Python: {error.msg}", where=_line(file, error.lineno), hint="correct the line")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file.path]
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    return HeadgateError(text, where=_line(file, frames[-1].lineno if frames else None), hint="correct the file")


def _policy(file: PolicyFile, module: ModuleType) -> type[Policy]:
    """The policy of a module, or an error that says why there is none."""
    candidate = getattr(module, file.class_name, None)
    if candidate is None:
        own = [
            name for name, value in vars(module).items() if _is_policy(value) and value.__module__ == module.__name__
        ]
        error = unknown("class", file.class_name, own, where=file.path)
        raise HeadgateError(error.message, where=file.path, hint=error.hint if own else "the file has no policy")
    place = _place(file, file.class_name)
    if not _is_policy(candidate):
        kind = f"class '{file.class_name}'" if isinstance(candidate, type) else f"'{file.class_name}'"
        raise HeadgateError(f"{kind} is no policy", where=place, hint="derive it from Linear, Scored or Policy")
    if candidate.__module__ != module.__name__:  # its name would be changed for everybody
        hint = "derive a class of your own from it" + (f", or give policy {candidate.name}" if candidate.name else "")
        raise HeadgateError(f"class '{file.class_name}' is imported, not the file's own", where=file.path, hint=hint)
    if missing := sorted(getattr(candidate, "__abstractmethods__", ())):
        raise HeadgateError(
            f"class '{file.class_name}' lacks {' and '.join(missing)}", where=place, hint="define what it lacks"
        )
    return candidate  # type: ignore[no-any-return]


def _is_policy(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, Policy)


def _place(file: PolicyFile, name: str) -> str:
    """File and line of a class or function."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    body = ast.parse(file.text).body
    return _line(file, next((node.lineno for node in body if isinstance(node, kinds) and node.name == name), None))


def _line(file: PolicyFile, line: int | None) -> str:
    return f"{file.path}:{line}" if line else file.path
