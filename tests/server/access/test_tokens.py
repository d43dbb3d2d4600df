"""Tokens: added, listed, revoked, expired; what is kept of them, and what a running server notices."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.access.conftest import Door

from headgate.model import HeadgateError
from headgate.server.access.roles import Role
from headgate.server.access.token_file import TokenFile
from headgate.server.access.tokens import TEXT, check_tenant, new_token, read_text
from headgate.spark.store.directory import DataDirectory


def test_only_a_hash_of_a_token_is_kept_in_a_private_file(tmp_path: Path) -> None:
    _, text = TokenFile(tmp_path / "data").add("ann", Role.VIEW)
    file = tmp_path / "data" / "access" / "tokens.json"
    secret = text.split("_", 2)[2]  # it may have more of them
    assert TEXT.fullmatch(text)
    assert secret not in file.read_text()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]


def test_tokens_may_be_added_before_a_directory_is_used_and_while_it_is(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "data")
    tokens.add("before", Role.VIEW)
    with DataDirectory(tmp_path / "data"):
        tokens.add("while", Role.VIEW)
    with DataDirectory(tmp_path / "data"):
        assert sorted(token.name for token in tokens.tokens().values()) == ["before", "while"]


def test_no_tokens_in_a_folder_that_is_no_data_directory(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(HeadgateError, match=r"not a data directory and not empty: it holds 'thesis.txt'"):
        TokenFile(tmp_path).add("ann", Role.VIEW)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: TokenFile(tmp_path / "data").add(f"t{n}", Role.VIEW), range(40)))
    assert len(TokenFile(tmp_path / "data").tokens()) == 40


def test_the_name_of_a_valid_token_is_taken_and_that_of_a_revoked_one_is_free(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "data")
    tokens.add("ann", Role.VIEW)
    with pytest.raises(HeadgateError, match="there is a token 'ann' already"):
        tokens.add("ann", Role.OPERATE)
    tokens.revoke("ann")
    assert tokens.add("ann", Role.OPERATE)[0].role is Role.OPERATE
    with pytest.raises(HeadgateError, match="unknown token 'bob'; known: ann"):
        tokens.revoke("bob")


def test_a_running_server_notices_the_first_token_and_a_revoked_one(door: Door) -> None:
    assert door.http.get("/v1/me").json["name"] == "local"
    asked = door.with_token(door.token("ann"))
    assert door.http.get("/v1/me").status == 401
    assert asked.get("/v1/me").json == {"name": "ann", "role": "view", "tenant": "", "limits": None, "csrf": None}
    door.tokens.revoke("ann")
    refused = asked.get("/v1/me")
    assert (refused.status, refused.json["detail"].partition(";")[0]) == (401, "the token 'ann' is revoked")
    assert refused.headers["www-authenticate"] == "Bearer"
    assert door.http.get("/v1/me").status == 401, "with all tokens revoked, a server is not open again"


def test_a_token_expires(door: Door) -> None:
    asked = door.with_token(door.token("brief", lifetime=60))
    assert asked.get("/v1/me").status == 200
    door.clock.now += 60
    assert (asked.get("/v1/me").status, asked.get("/v1/me").json["detail"][:28]) == (
        401,
        "the token 'brief' is expired",
    )


def test_a_wrong_token_is_refused_also_where_none_is_needed(door: Door) -> None:
    wrong = door.with_token(new_token("ann", Role.VIEW, now=0.0)[1])
    assert [wrong.get(path).status for path in ("/v1/me", "/v1/health/live")] == [401, 401]
    assert door.http.get("/v1/health/live").status == 200


@pytest.mark.parametrize("header", ["Basic YTpi", "Bearer", "Bearer x", "hg_x", "", "Bearer hg_é_x", "Token t"])
def test_only_bearer_tokens_are_taken(door: Door, header: str) -> None:
    door.token("ann")
    sent = {"Authorization": header.encode()}
    assert door.http.get("/v1/me", headers=sent).status == 401


@pytest.mark.parametrize("query", ["token={}", "access_token=x", "q={}", "a=1&TOKEN=x", "api_key=x"])
def test_a_token_in_an_address_is_refused_and_not_repeated(door: Door, query: str) -> None:
    text = door.token("ann")
    refused = door.http.get("/v1/status?" + query.format(text))
    assert (refused.status, text in refused.body.decode()) == (400, False)
    assert "Authorization: Bearer" in refused.json["hint"]
    assert door.http.get(f"/v1/{text}").status == 400


def test_files_that_cannot_be_read_open_nothing(door: Door, tmp_path: Path) -> None:
    asked = door.with_token(door.token("ann"))
    (tmp_path / "data" / "access" / "tokens.json").write_text("{")
    assert [asked.get("/v1/me").status, door.http.get("/v1/me").status] == [503, 503]


def test_failures_are_limited_by_address_and_right_tokens_still_pass(doors) -> None:  # type: ignore[no-untyped-def]
    door = doors(failures=3)
    right = door.with_token(door.token("ann"))
    wrong = door.with_token("hg_x")
    assert [wrong.get("/v1/me").status for _ in range(4)] == [401, 401, 401, 429]
    assert 1 <= int(wrong.get("/v1/me").headers["retry-after"]) <= 60
    assert door.http.post("/v1/login", {"token": "hg_x"}).status == 429
    assert right.get("/v1/me").status == 200


@given(st.text())
def test_any_text_is_a_token_or_none(text: str) -> None:
    assert read_text(text) is None


@given(st.text(alphabet="ab.-_A/ \x00ä", max_size=40))
def test_a_tenants_name_cannot_be_taken_for_a_part_of_another(name: str) -> None:
    try:
        check_tenant(name)
    except HeadgateError:
        return
    assert name == name.lower()
    assert "." not in name
    assert 0 < len(name) <= 30


def test_a_file_has_its_format(tmp_path: Path) -> None:
    TokenFile(tmp_path / "data").add("ann", Role.SUBMIT, "acme", 60)
    content = json.loads((tmp_path / "data" / "access" / "tokens.json").read_text())
    assert content["format"] == 1
    assert sorted(content["tokens"][0]) == [
        "created", "digest", "expires", "id", "name", "revoked", "role", "tenant",
    ]  # fmt: skip
