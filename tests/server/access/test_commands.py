"""`headgate token`, `headgate tenant`, and what `headgate serve` needs before it starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.server.access.test_tls import CERTIFICATE, KEY
from typer.testing import CliRunner, Result

from headgate.cli import serve_access
from headgate.cli.main import app
from headgate.model import HeadgateError
from headgate.server.access.tokens import TEXT
from headgate.server.settings import TLS, Address


def headgate(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def told(*arguments: str | Path) -> Any:
    result = headgate(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_token_is_shown_once(tmp_path: Path) -> None:
    added = headgate(
        "token", "add", "ann", "--role", "submit", "--tenant", "acme", "--expires", "30d", "--data", tmp_path
    )
    assert TEXT.fullmatch(added.stdout.strip())
    assert "token 'ann' may submit, for tenant acme, until" in added.stderr
    listed = headgate("token", "ls", "--data", tmp_path)
    secret = added.stdout.strip().rpartition("_")[2]
    assert ("ann" in listed.stdout, secret in listed.stdout) == (True, False)
    assert headgate("token", "revoke", "ann", "--data", tmp_path).exit_code == 0
    assert told("token", "ls", "--data", tmp_path)["tokens"][0]["state"] == "revoked"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", "ann", "--role", "king"], "unknown role 'king'; known: operate, submit, view"),
        (["add", "ann", "--role", "public"], "unknown role 'public'"),
        (["add", "a/b", "--role", "view"], "the name of a token 'a/b' is not a name"),
        (["add", "ann", "--role", "view", "--tenant", "../x"], "'../x' is no name of a tenant"),
        (["add", "ann", "--role", "view", "--expires", "soon"], "--expires is not a time, found soon; write 12h"),
        (["add", "ann", "--role", "view", "--expires", "-1d"], "--expires is not a time"),
        (["revoke", "ann"], "unknown token 'ann'; there is no token at all: add one"),
    ],
)
def test_wrong_words_are_refused_and_change_nothing(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = headgate("token", *arguments, "--data", tmp_path / "data")
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
    assert not (tmp_path / "data" / "access" / "tokens.json").exists()


def test_limits_of_a_tenant_are_set_one_by_one(tmp_path: Path) -> None:
    first = told("tenant", "set", "acme", "--queries", "3", "--bytes-per-minute", "5MB", "--data", tmp_path)["acme"]
    assert (first["queries"], first["bytes_per_minute"], first["rows"]) == (3, 5_000_000, 1_000_000)
    told("tenant", "set", "acme", "--classes", "normal, background", "--data", tmp_path)
    listed = told("tenant", "ls", "--data", tmp_path)
    assert listed["tenants"] == {"acme": {**first, "classes": ["normal", "background"]}}
    assert listed["others"]["classes"] == ["*"]
    assert "background" in headgate("tenant", "ls", "--data", tmp_path).stdout


@pytest.mark.parametrize("arguments", [["A"], ["acme", "--bytes-per-minute", "much"], ["acme", "--classes", "a/b"]])
def test_wrong_limits_are_refused(tmp_path: Path, arguments: list[str]) -> None:
    assert headgate("tenant", "set", *arguments, "--data", tmp_path).exit_code == 2


LOOPBACK, PUBLIC = Address("127.0.0.1", 8440), Address("0.0.0.0", 8440)
FILES = TLS(CERTIFICATE, KEY)


def test_a_server_on_loopback_is_open_until_there_are_tokens(tmp_path: Path) -> None:
    door = serve_access.door(tmp_path, LOOPBACK, None, False)
    assert (door.access.open, door.lines[0][:34]) == (True, "open to everybody on this machine:")
    headgate("token", "add", "ann", "--role", "view", "--data", tmp_path)
    assert not door.access.open
    assert serve_access.door(tmp_path, LOOPBACK, None, False).lines == ("tokens are asked for; 1 is valid",)


def test_a_server_behind_a_proxy_is_never_open(tmp_path: Path) -> None:
    with pytest.raises(HeadgateError, match="--allow-host: others than this machine can reach the server"):
        serve_access.door(tmp_path, LOOPBACK, None, False, ["hg.example"])
    headgate("token", "add", "ann", "--role", "view", "--data", tmp_path)
    assert not serve_access.door(tmp_path, LOOPBACK, None, False, ["hg.example"]).access.open


def test_a_server_that_others_reach_needs_tokens_and_tls(tmp_path: Path) -> None:
    for tls, insecure in ((None, False), (FILES, False), (None, True)):
        with pytest.raises(HeadgateError, match="there is no valid token; make one first: headgate token add"):
            serve_access.door(tmp_path, PUBLIC, tls, insecure)
    headgate("token", "add", "ann", "--role", "view", "--data", tmp_path)
    with pytest.raises(HeadgateError, match="there is no TLS; give --tls-cert FILE --tls-key FILE, or --insecure"):
        serve_access.door(tmp_path, PUBLIC, None, False)
    assert not serve_access.door(tmp_path, PUBLIC, FILES, False).access.open
    assert "can read tokens and rows" in serve_access.door(tmp_path, PUBLIC, None, True).lines[1]
    headgate("token", "revoke", "ann", "--data", tmp_path)
    with pytest.raises(HeadgateError, match="there is no valid token"):
        serve_access.door(tmp_path, PUBLIC, FILES, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bind", "0.0.0.0"], "--bind 0.0.0.0:8440: others than this machine can reach the server"),
        (["--tls-cert", "x"], "--tls-key is missing"),
        (["--tls-cert", "x", "--tls-key", "y", "--bind", "127.0.0.1:0"], "cannot use certificate 'x' with key 'y'"),
        (["--allow-path", "nowhere"], "--allow-path: there is no folder 'nowhere'"),
        (["--allow-connect", "9999"], "--allow-connect: '9999' is no address"),
    ],
)
def test_serve_refuses_wrong_options_before_anything_starts(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = headgate("serve", "--data", tmp_path / "data", *arguments)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
