"""Rewrites the generated parts of the documentation.

    python docs/generate.py

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`; `PARTS` says what goes there. Examples are run
again too, those of a page one after the other in one temporary folder:

* a block whose caption is a file's name, as in "`rows.csv`:", becomes that file, or shows it if it is in examples/;
* in console blocks, lines that begin with `$ headgate` are commands and the rest is their output;
* in sh blocks, lines that begin with `headgate run` are commands too; what they print is never the same;
* a text block right after a python block is what that prints. Python that opens a session runs in this process, so that
  all of it shares one Spark; other Python runs in a process of its own, in the project's folder.
"""

from __future__ import annotations

import importlib.util
import inspect
import io
import re
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import chdir, redirect_stdout
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

from typer.testing import CliRunner

from headgate import client
from headgate.cli.main import app
from headgate.model import Level
from headgate.plan.sql import bounds, functions
from headgate.policies.checks import CHECKS
from headgate.policies.contract import Policy, View
from headgate.policies.registry import policies
from headgate.policies.settings import ISOLATION, TRAIN, Setting, level_setting
from headgate.spark.handle import Handle
from headgate.spark.jvm.settings import builder
from headgate.spark.queries.layout import FINE
from headgate.spark.session import Session
from headgate.spark.status import Status, StatusLine
from headgate.stats import STATISTICS, Stats

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PART = re.compile(r"^(<!-- generated: ([\w-]+) -->\n).*?^(<!-- end -->)$", re.DOTALL | re.MULTILINE)
EXAMPLE = re.compile(
    r"^(?P<caption>`(?P<file>[\w./-]+)`:\n\n)?```(?P<kind>\w+)\n(?P<body>.*?)^```$"
    r"(?P<printed>\n\n```text\n.*?^```$)?",
    re.DOTALL | re.MULTILINE,
)
PROMPT = "$ headgate "
PORT = "9999"  # in examples, which are run with one that is free
SESSION = "headgate.Session("
DOCS = re.compile(r"\bdocs/([\w-]+\.md)")
TERMINAL = {"COLUMNS": "110", "NO_COLOR": "1", "FORCE_COLOR": None, "TERM": "dumb"}
OF = {"Unit": "unit", "QueryId": "query", "ClassId": "class"}


def refreshed(page: Path) -> str:
    """The text of a page with its generated parts and example output up to date."""
    text = PART.sub(lambda part: part[1] + PARTS[part[2]]() + part[3], page.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("examples").symlink_to(ROOT / "examples")
        return EXAMPLE.sub(_rerun, text)


def needs_spark(page: Path) -> bool:
    """Whether examples of a page run on Spark when it is refreshed."""
    examples = EXAMPLE.finditer(page.read_text(encoding="utf-8"))
    return any(SESSION in example["body"] if example["kind"] == "python" else _runs(example) for example in examples)


def commands(text: str) -> list[str]:
    """The headgate commands in the console and sh blocks of a page, without `headgate`."""
    return [command for example in EXAMPLE.finditer(text) for command in (*_shown_commands(example), *_runs(example))]


def _shown_commands(example: re.Match[str]) -> list[str]:
    """The commands of a console block."""
    lines = example["body"].splitlines() if example["kind"] == "console" else []
    return [line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)]


def _runs(example: re.Match[str]) -> list[str]:
    """The commands of an sh block that run a workload."""
    lines = example["body"].splitlines() if example["kind"] == "sh" else []
    return [line.removeprefix("headgate ") for line in lines if line.startswith("headgate run ")]


def _rerun(example: re.Match[str]) -> str:
    """An example as it was written, with the output that it has now."""
    kind, body, printed = example["kind"], example["body"], example["printed"] or ""
    if example["file"]:
        body = _file(Path(example["file"]), body)
    elif kind == "console":
        body = "".join(f"{PROMPT}{command}\n{_output(command)}" for command in _shown_commands(example))
    elif kind == "sh":
        for command in _runs(example):
            _output(command)
    elif kind == "python" and (printed or SESSION in body):
        output = _printed_on_spark(body) if SESSION in body else _printed(body)
        printed = f"\n\n```text\n{output}```" if printed else ""
    return f"{example['caption'] or ''}```{kind}\n{body}```{printed}"


def _file(path: Path, written: str) -> str:
    """The text of a file, which is made if it is not there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def _printed(script: str) -> str:
    """What a script prints; it runs in its own process, since it may register policies."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "example.py")
        file.write_text(script, encoding="utf-8")
        return subprocess.run(
            [sys.executable, file], cwd=ROOT, stdout=subprocess.PIPE, check=True, encoding="utf-8"
        ).stdout


def _printed_on_spark(script: str) -> str:
    """What a script prints that opens a session; it finds Spark running, which is quicker than a start for each."""
    builder("local[2]").config("spark.driver.host", "127.0.0.1").getOrCreate()
    script = script.replace(PORT, str(_free_port()))
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(script, "example", "exec"), {"__name__": "__main__"})
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _output(command: str) -> str:
    result = CliRunner().invoke(app, shlex.split(command, comments=True), env=TERMINAL)
    if result.exit_code:
        raise SystemExit(f"headgate {command}: exit {result.exit_code}\n{result.output}")
    return "".join(f"{line.rstrip()}\n" for line in result.output.splitlines())


def _policies() -> str:
    own = [policy for policy in policies().values() if policy.__module__.startswith("headgate.")]
    rows = [
        (
            f"`{policy.name}`",
            policy.rule,
            ", ".join(f"`{level.value}`" for level in policy.levels),
            ", ".join(f"`{need}`" for need in sorted(policy.needs)) or "–",
            policy.source,
            "yes",  # the simulator runs units of every level
            _on_spark(policy),
        )
        for policy in own
    ]
    head = ("name", "rule", "levels, the default first", "needs", "source", "simulator", "Spark")
    return _table(head, rows)


def _on_spark(policy: type[Policy]) -> str:
    """How the engine runs a policy at its default level, and what the policy requires."""
    how = "yes, queries in fragments" if policy.levels[0] in FINE else "yes"
    return how + (", if each query has a `qos`" if "qos" in policy.needs else "")


def _statistics() -> str:
    rows = []
    for name in sorted(STATISTICS):
        method = getattr(Stats, name)
        of = list(inspect.signature(method).parameters.values())[1].annotation
        rows.append((f"`{name}`", OF[of], _summary(method) or f"The {name.replace('_', ' ')}"))
    return _table(("statistic", "of a", "meaning"), rows)


def _view() -> str:
    """What a policy may read of the scheduler, in the order of the contract."""
    rows = []
    for name, member in vars(View).items():
        if name.startswith("_"):
            continue
        called = member.fget if isinstance(member, property) else member
        signature = inspect.signature(called)
        given = ", ".join(list(signature.parameters)[1:])
        shown = f"view.{name}" if isinstance(member, property) else f"view.{name}({given})"
        rows.append((f"`{shown}`", f"`{signature.return_annotation}`", _summary(called)))
    return _table(("read", "is a", "meaning"), rows)


def _checks() -> str:
    return _table(("check", "what it demands"), [(f"`{check.__name__}`", _summary(check)) for check in CHECKS])


def _settings() -> str:
    rows = [_setting(setting) for setting in (level_setting((Level.QUERY,)), *TRAIN, *ISOLATION)]
    return _table(("setting", "default", "meaning"), [("`level`", "the policy's first", rows[0][2]), *rows[1:]])


def _setting(setting: Setting) -> tuple[str, str, str]:
    return f"`{setting.name}`", f"`{setting.default}`", setting.meaning


def _module(path: Path) -> ModuleType:
    """A Python file that is in no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _sql_cases() -> ModuleType:
    """The module of SQL examples, which belongs to the tests and not to the package."""
    return _module(ROOT / "tests" / "spark" / "compile" / "accepted.py")


def _sql_streams() -> str:
    cases = _sql_cases()
    rows = [
        (f"`{name}`", "stream", _columns(stream.schema), f"`{stream.event_time}`" if stream.event_time else "–")
        for name, stream in cases.STREAMS.items()
    ]
    tables = [(f"`{name}`", "stored table", _columns(table.schema), "–") for name, table in cases.TABLES.items()]
    return _table(("name", "is a", "columns", "event time"), [*rows, *tables])


def _sql_accepted() -> str:
    return _topics("accepted", ("what", "SQL"), lambda case: (case.what, _code(case.sql)))


def _sql_refused() -> str:
    return _topics("refused", ("what", "SQL", "why"), lambda case: (case.what, _code(case.sql), case.other))


def _sql_functions() -> str:
    """A table of the accepted functions, and one of those refused."""
    listed = functions.listed()
    kinds = {**listed["accepted"], "aggregates": listed["aggregates"]["accepted"]}
    kinds["aggregates, if sorted or with a rule for ties"] = listed["aggregates"]["settled"]
    accepted = [(kind.replace("_", " "), _calls(names)) for kind, names in kinds.items()]
    refused = [(_calls(group["functions"]), group["why"], group["hint"]) for group in listed["refused"].values()]
    return f"\n{_table(('accepted', 'functions'), accepted)}\n{_table(('refused', 'why', 'instead'), refused)}\n"


def _calls(names: str) -> str:
    return " ".join(map(_code, names.split()))


def _sql_bounds() -> str:
    """The table in the module that holds the bounds."""
    written = inspect.getdoc(bounds) or ""
    return written[written.index("|") :] + "\n"


def _topics(name: str, head: tuple[str, ...], row: Callable[[Any], tuple[str, ...]]) -> str:
    """A heading and a table for each topic."""
    parts = [
        f"\n### {topic}\n\n{_table(head, map(row, cases))}"
        for topic, cases in groupby(_sql_cases().cases(name), key=lambda case: case.topic)
    ]
    return "".join(parts) + "\n"


def _class(kind: type, called: str) -> str:
    """A class for those who use it: its docstring, then each public member with its own."""
    names = [name for name, member in vars(kind).items() if _is_public(name) and inspect.getdoc(member)]
    parts = [f"\n### {kind.__name__}{_shown(name)}\n\n{_member(kind, name, called)}" for name in names]
    return f"\n{_markdown(inspect.getdoc(kind))}{''.join(parts)}\n"


def _is_public(name: str) -> bool:
    return name == "__getitem__" or not name.startswith("_")


def _shown(name: str) -> str:
    return "[name]" if name == "__getitem__" else f".{name}"


def _member(kind: type, name: str, called: str) -> str:
    """How a member is written, and its docstring."""
    member = inspect.getattr_static(kind, name)
    given = _signature(member) if callable(member) and name != "__getitem__" else ""
    return f"`{called}{_shown(name)}{given}`\n\n{_markdown(inspect.getdoc(member))}"


def _signature(called: Callable[..., object]) -> str:
    """Parameters and their defaults, without types: the text says what they may be."""
    signature = inspect.signature(called)
    given = [each.replace(annotation=each.empty) for name, each in signature.parameters.items() if name != "self"]
    return re.sub(r"<\w+\.\w+: ('\w+')>", r"\1", str(inspect.Signature(given)))  # a member of an enumeration is a text


def _markdown(docstring: str | None) -> str:
    """A docstring as Markdown: its examples become blocks, and names of pages links."""
    parts = []
    for paragraph in (docstring or "").split("\n\n"):
        example = paragraph.startswith(">>>")
        parts.append(f"```pycon\n{paragraph}\n```\n" if example else DOCS.sub(r"[\1](\1)", paragraph) + "\n")
    return "\n".join(parts)


def _fields(kind: type) -> str:
    """A class that only holds values: its docstring."""
    return f"\n{_markdown(inspect.getdoc(kind))}\n"


def _columns(schema: Iterable[tuple[str, str]]) -> str:
    return _code(", ".join(f"{name} {kind}" for name, kind in schema))


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _summary(documented: object) -> str:
    written = inspect.getdoc(documented) or ""
    return " ".join(written.partition("\n\n")[0].split()).rstrip(".")


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), *(list(row) for row in rows)]
    written = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "".join(f"{line}\n" for line in (written[0], "|---" * len(lines[0]) + "|", *written[1:]))


PARTS: dict[str, Callable[[], str]] = {
    "session": lambda: f"\n`headgate.Session{_signature(Session)}`\n{_class(Session, 'hg')}",
    "handle": lambda: _class(Handle, "hot"),
    "client": lambda: f"\n`headgate.Client{_signature(client.Client)}`\n{_class(client.Client, 'hg')}",
    "client-handle": lambda: _class(client.Handle, "warm"),
    "status": lambda: _fields(Status),
    "status-line": lambda: _fields(StatusLine),
    "policies": _policies,
    "statistics": _statistics,
    "view": _view,
    "checks": _checks,
    "settings": _settings,
    "sql-streams": _sql_streams,
    "sql-accepted": _sql_accepted,
    "sql-refused": _sql_refused,
    "sql-functions": _sql_functions,
    "sql-bounds": _sql_bounds,
    "rest": lambda: f"\n{_module(ROOT / 'docs' / 'rest_page.py').rest_routes()}\n",
}


def main() -> None:
    """Rewrite every page that is not up to date."""
    for page in PAGES:
        text = refreshed(page)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
