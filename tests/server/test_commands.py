"""The commands that ask a server, on one that runs."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.server.http_client import Http
from typer.testing import CliRunner, Result

from headgate.cli.main import app

Headgate = Callable[..., Result]
SCRIPT = "import sys; sys.argv[0] = 'headgate'; from headgate.cli.entry import run; run()"


@pytest.fixture(autouse=True)
def _nobody_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No server and no profile of whoever runs the tests."""
    for name in ("HEADGATE_SERVER", "HEADGATE_TOKEN", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def headgate(http: Http, monkeypatch: pytest.MonkeyPatch) -> Headgate:
    """Run a command against the server."""

    def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
        monkeypatch.setenv("COLUMNS", "200")
        given = ["--server", f"http://127.0.0.1:{http.port}", *map(str, arguments)]
        return CliRunner().invoke(app, given, input=stdin)

    return run


def fine(result: Result) -> Result:
    assert result.exit_code == 0, result.stderr
    return result


def test_streams_from_declaring_to_dropping(headgate: Headgate) -> None:
    fine(headgate("stream", "add", "plant", "id bigint, v double", "--watermark", "5 s"))
    assert "plant" in fine(headgate("stream", "ls")).stdout
    (listed,) = [one for one in json.loads(fine(headgate("stream", "ls", "--json")).stdout) if one["name"] == "plant"]
    assert (listed["schema"], listed["watermark"]) == ("id bigint, v double", 5.0)
    pushed = fine(headgate("stream", "push", "plant", stdin='{"id": 1, "v": 1.5}\n{"id": "x"}\n'))
    assert pushed.stderr == "1 rows accepted, 1 rejected: headgate stream dead plant\n"
    assert "schema" in fine(headgate("stream", "show", "plant")).stdout
    (letter,) = json.loads(fine(headgate("stream", "dead", "plant", "--json")).stdout)
    assert letter["reason"] == "column 'id': 'x' is not a whole number"
    assert "is not a whole number" in fine(headgate("stream", "dead", "plant")).stdout
    assert "0 letters are rows" in fine(headgate("stream", "dead", "plant", "--replay")).stderr
    fine(headgate("stream", "finish", "plant"))
    fine(headgate("stream", "rm", "plant", "--yes"))
    gone = headgate("stream", "show", "plant")
    assert (gone.exit_code, "unknown stream 'plant'" in gone.stderr) == (2, True)


def test_rows_are_pushed_from_files_of_every_kind(headgate: Headgate, tmp_path: Path) -> None:
    fine(headgate("stream", "add", "files", "id bigint, note string"))
    table = pa.table({"id": [1, 2], "note": ["a", "b"]})
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "note": "x"}\n\n{"id": 2}')
    (tmp_path / "rows.csv").write_text('id,note\n3,"two\nlines"\n4,y')
    with gzip.open(tmp_path / "rows.csv.gz", "wt") as file:
        file.write("id,note\n5,z\n")
    pq.write_table(table, tmp_path / "rows.parquet")
    with pa.ipc.new_file(str(tmp_path / "file.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pa.ipc.new_stream(str(tmp_path / "stream.arrow"), table.schema) as writer:
        writer.write_table(table)
    names = ["rows.jsonl", "rows.csv", "rows.csv.gz", "rows.parquet", "file.arrow", "stream.arrow"]
    pushed = fine(headgate("stream", "push", "files", *(tmp_path / name for name in names), "--json"))
    assert json.loads(pushed.stdout) == {"accepted": 11, "rejected": 0}
    stdin = headgate("stream", "push", "files", "-", "--format", "csv", "--json", stdin="id,note\n6,w\n")
    assert json.loads(fine(stdin).stdout) == {"accepted": 1, "rejected": 0}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (["nowhere.csv"], "there is no file 'nowhere.csv'"),
        (["rows.xlsx"], "nobody knows what is in 'rows.xlsx'; add --format"),
        (["x", "--format", "xml"], "--format: unknown format 'xml'"),
    ],
)
def test_files_that_cannot_be_pushed_are_refused(headgate: Headgate, files: list[str], told: str) -> None:
    refused = headgate("stream", "push", "s", *files)
    assert (refused.exit_code, told in refused.stderr) == (2, True)


def test_a_file_that_is_not_what_its_suffix_says(headgate: Headgate, tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_text("id")
    refused = headgate("stream", "push", "s", tmp_path / "rows.parquet")
    assert (refused.exit_code, "is not parquet" in refused.stderr) == (2, True)


def test_queries_from_adding_to_stopping(headgate: Headgate, tmp_path: Path) -> None:
    fine(headgate("stream", "add", "feed", "id bigint, v double"))
    fine(headgate("class", "add", "critical", "60"))
    sql = tmp_path / "hot.sql"
    sql.write_text("SELECT id, v FROM feed WHERE v > 1")
    fine(headgate("query", "add", "hot", "--file", sql, "--class", "critical", "--target", "2 s"))
    assert "hot" in fine(headgate("query", "ls", "--class", "critical", "--sort", "-waiting")).stdout
    fine(headgate("stream", "push", "feed", stdin='{"id": 1, "v": 2.5}\n{"id": 2, "v": 3.5}\n'))
    rows = fine(headgate("query", "tail", "hot", "--from", "start", "--rows", "2", "--json")).stdout
    assert [json.loads(line) for line in rows.splitlines()] == [{"id": 1, "v": 2.5}, {"id": 2, "v": 3.5}]
    shown = fine(headgate("query", "tail", "hot", "--from", "start", "--rows", "1")).stdout
    assert shown == "id  v\n1   2.5\n"
    for steps in (["pause"], ["resume"], ["move", "critical"], ["replace", "SELECT id, v FROM feed WHERE v > 2"]):
        fine(headgate("query", steps[0], "hot", *steps[1:]))
    described = json.loads(fine(headgate("query", "show", "hot", "--json")).stdout)
    assert (described["class"], described["sql"]) == ("critical", "SELECT id, v FROM feed WHERE v > 2")
    assert "critical" in fine(headgate("query", "show", "hot")).stdout
    changes = fine(headgate("journal", "--query", "hot", "--json")).stdout
    assert "paused" in [json.loads(line)["to"] for line in changes.splitlines()]
    assert "paused" in fine(headgate("journal", "--last", "5")).stdout
    fine(headgate("query", "stop", "hot"))
    assert headgate("query", "show", "hot").exit_code == 2


def test_classes(headgate: Headgate) -> None:
    fine(headgate("class", "add", "batch", "2", "--target", "10 s"))
    fine(headgate("class", "set", "batch", "--priority", "3", "--target", "none"))
    (found,) = [one for one in json.loads(fine(headgate("class", "ls", "--json")).stdout) if one["name"] == "batch"]
    assert (found["priority"], found["target"]) == (3.0, None)
    nothing = headgate("class", "set", "batch")
    assert (nothing.exit_code, "nothing is to be different" in nothing.stderr) == (2, True)
    fine(headgate("class", "rm", "batch"))


def test_tables(headgate: Headgate, tmp_path: Path) -> None:
    file = tmp_path / "halls.csv"
    file.write_text("machine,hall\noven,north\n")
    fine(headgate("table", "add", "halls", file))
    assert "halls" in fine(headgate("table", "ls")).stdout
    fine(headgate("table", "refresh", "halls"))
    fine(headgate("table", "rm", "halls"))


def test_the_policy(headgate: Headgate) -> None:
    fine(headgate("policy", "set", "mbd, inversion=dsp", "--fuse", "class"))
    assert json.loads(fine(headgate("policy", "show", "--json")).stdout)["policy"] == "mbd, inversion=dsp"
    assert "hnr" in fine(headgate("policy", "ls")).stdout


def test_the_status(headgate: Headgate) -> None:
    assert json.loads(fine(headgate("status", "--json")).stdout)["engine"]["state"] == "ready"
    assert "ready, under" in fine(headgate("status")).stdout


def test_the_address(headgate: Headgate, http: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert fine(headgate("open")).stdout == f"http://127.0.0.1:{http.port}/\n"


def test_a_dry_run_starts_nothing(headgate: Headgate) -> None:
    fine(headgate("stream", "add", "dry", "id bigint"))
    told = json.loads(fine(headgate("query", "dry-run", "maybe", "SELECT id FROM dry", "--json")).stdout)
    assert told
    assert headgate("query", "show", "maybe").exit_code == 2


def test_why_and_what_if_ask_the_server(headgate: Headgate) -> None:
    fine(headgate("stream", "add", "asked", "id bigint"))
    fine(headgate("query", "add", "late", "SELECT id FROM asked"))
    for number in range(1, 13):  # a what-if wants ten runs at least
        fine(headgate("stream", "push", "asked", stdin=f'{{"id": {number}}}\n'))
        fine(headgate("query", "tail", "late", "--from", "start", "--rows", str(number)))
    assert "late" in fine(headgate("why", "late")).stdout
    assert "sentence" in json.loads(fine(headgate("why", "late", "--last", "--json")).stdout)
    told = json.loads(fine(headgate("what-if", "--policy", "fcfs", "--json")).stdout)
    assert "fcfs" in told["policies"]
    assert "fcfs" in fine(headgate("what-if", "--policy", "fcfs")).stdout
    fine(headgate("why", "--inversions"))


@pytest.mark.parametrize(
    "command", [["why", "q", "out/x"], ["why", "out/x", "--inversions"], ["journal", "out/x"], ["what-if", "out/x"]]
)
def test_a_directory_and_a_server_exclude_each_other(headgate: Headgate, command: list[str]) -> None:
    refused = headgate(*command)
    assert (refused.exit_code, "and a server are both given" in refused.stderr) == (2, True)


def test_the_server_may_be_in_the_environment_or_a_profile(
    http: Http, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{http.port}"
    monkeypatch.setenv("HEADGATE_SERVER", url)
    fine(CliRunner().invoke(app, ["journal", "--json"]))
    monkeypatch.delenv("HEADGATE_SERVER")
    file = tmp_path / ".config" / "headgate" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[profile.here]\nserver = "{url}"\ntoken = "x"\n')
    file.chmod(0o644)
    found = CliRunner().invoke(app, ["--profile", "here", "status", "--json"])
    assert "others can read it" in found.stderr
    assert "the token is not one of this server" in found.stderr


def process(http: Http, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "--server", f"http://127.0.0.1:{http.port}", *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("command", [["stream", "tail", "tailed"], ["query", "tail", "q-tailed", "--from", "start"]])
def test_following_ends_cleanly_with_ctrl_c(http: Http, headgate: Headgate, command: list[str]) -> None:
    http.post("/v1/streams", {"name": "tailed", "schema": "id bigint"})
    http.post("/v1/queries", {"name": "q-tailed", "sql": "SELECT id FROM tailed", "since": "start"})
    fine(headgate("stream", "push", "tailed", stdin='{"id": 1}\n'))
    following = process(http, *command, PYTHONUNBUFFERED="1")
    assert following.stdout is not None
    assert following.stdout.readline()  # it follows
    following.send_signal(signal.SIGINT)
    _, told = following.communicate(timeout=30)
    assert (following.returncode, told) == (130, "")


@pytest.mark.parametrize(
    ("command", "offered"),
    [("stream show comp", ["completed"]), ("query pause q-comp", ["q-completed"]), ("stream show nothing", [])],
)
def test_names_on_the_server_are_completed(http: Http, command: str, offered: list[str]) -> None:
    http.post("/v1/streams", {"name": "completed", "schema": "id bigint"})
    http.post("/v1/queries", {"name": "q-completed", "sql": "SELECT id FROM completed"})
    assert completed(f"headgate --server http://127.0.0.1:{http.port} {command}") == offered


def test_completion_is_silent_if_nobody_answers() -> None:
    assert completed("headgate --server http://127.0.0.1:1 stream show ") == []


def completed(words: str) -> list[str]:
    asked = {"_HEADGATE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert said.stderr == ""
    return said.stdout.split()


def test_the_client_runs_where_there_is_no_spark() -> None:
    code = "import sys, headgate; headgate.Client('http://h'); sys.exit(any('spark' in name for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
