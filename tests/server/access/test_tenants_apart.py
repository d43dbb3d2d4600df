"""A second tenant learns nothing of the first: markers are planted in one, and looked for in every answer to the other.

Routes come from the OpenAPI document, so that new ones are looked through too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import pytest
from tests.server.http_client import JSON, Http, Reply, until

from headgate.model import HeadgateError, unknown
from headgate.server import problems
from headgate.server.access.access import Access
from headgate.server.access.roles import Role
from headgate.server.access.token_file import TokenFile

COUNT = 7919  # rows of the first tenant: a number that nothing else has
MARKERS = ("acme", "mkstream", "mkquery", "mkpaused", "mkcolumn", "mkliteral", "mkrow", "mkletter")
NUMBER = re.compile(rf"(?<![\d.]){COUNT}(?![\d.])")
NAMES = ("mkstream", "mkquery", "acme..mkstream", "acme..mkquery")
ABSENT = {name: name.replace("mk", "qp").replace("acme", "nope") for name in NAMES}  # as long, and nobody's
BODIES: dict[str, Any] = {
    "move": {"class": "default"},
    "replace": {"sql": "SELECT 1 FROM mine"},
    "rows": '{"mkcolumn": "x"}\n',
}
LISTENING = 1.0  # seconds that streams of events are read


@dataclass(frozen=True)
class Tenants:
    first: Http
    second: Http
    boss: Http


@pytest.fixture(scope="module")
def tenants(serve: Callable[..., Http], tmp_path_factory: pytest.TempPathFactory) -> Tenants:
    directory = tmp_path_factory.mktemp("apart") / "data"
    tokens = TokenFile(directory)
    http = serve(access=Access(tokens), directory=directory)

    def asking(name: str, role: Role, tenant: str) -> Http:
        return Http(http.port, {"Authorization": f"Bearer {tokens.add(name, role, tenant)[1]}"})

    made = Tenants(
        asking("ann", Role.OPERATE, "acme"), asking("bob", Role.OPERATE, "rival"), asking("boss", Role.OPERATE, "")
    )
    plant(made.first)
    declare(made.second, "mine", "theirs", "v string", "SELECT v FROM mine WHERE v > ''", '{"v": "x"}\n')
    return made


def plant(http: Http) -> None:
    """Give the first tenant streams, queries, rows, results and dead letters with markers in them."""
    lines = '{"mkcolumn": "mkrow"}\n' * COUNT + '{"mkcolumn": ["mkletter"]}\nmkletter\n'
    sql = "SELECT mkcolumn, 'mkliteral' AS mkliteral FROM mkstream WHERE mkcolumn <> 'mkliteral'"
    declare(http, "mkstream", "mkquery", "mkcolumn string", sql, lines)
    failing = "SELECT mkcolumn FROM mkstream WHERE mkcolumn = 'mkliteral'"
    assert http.post("/v1/queries", {"name": "mkpaused", "sql": failing}).status == 201
    assert http.post("/v1/queries/mkpaused/pause").status == 200


def declare(http: Http, stream: str, query: str, schema: str, sql: str, lines: str) -> None:
    assert http.post("/v1/streams", {"name": stream, "schema": schema}).status == 201
    assert http.post("/v1/queries", {"name": query, "sql": sql}).status == 201
    assert http.post(f"/v1/streams/{stream}/rows", lines, kind="application/x-ndjson").status == 200
    deadline = time.monotonic() + 60
    while not http.get(f"/v1/queries/{query}").json["tuples_out"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def operations(http: Http) -> Iterator[tuple[str, str]]:
    for path, methods in http.get("/v1/openapi.json").json["paths"].items():
        for method in methods:
            yield method.upper(), path


def ask(http: Http, method: str, path: str) -> str:
    """An answer with its headers, as text; of a stream of events, what comes within a second."""
    kind, last = ("application/x-ndjson", "rows") if path.endswith("/rows") else (JSON, path.rpartition("/")[2])
    body = None if method in ("GET", "DELETE") else BODIES.get(last, {})
    if method != "GET":
        return shown(http(method, path, body, kind=kind))
    connection = HTTPConnection("127.0.0.1", http.port, timeout=30)
    try:
        connection.request(method, path, headers=dict(http.headers))
        response = connection.getresponse()
        streams = "event-stream" in response.headers.get("content-type", "")
        return f"{response.status} {response.headers} {listen(connection, response) if streams else response.read()!r}"
    finally:
        connection.close()


def listen(connection: HTTPConnection, response: Any) -> str:
    received, until = b"", time.monotonic() + LISTENING
    while (left := until - time.monotonic()) > 0:
        connection.sock.settimeout(left)
        try:
            received += response.read1(65536)
        except TimeoutError:
            break
    return repr(received)


def shown(reply: Reply) -> str:
    return f"{reply.status} {dict(reply.headers)} {reply.body!r}"


def found(text: str, asked: str) -> list[str]:
    """Markers in an answer, but those that were in the question."""
    return [marker for marker in MARKERS if marker in text.replace(asked, "")] + (
        ["count"] if NUMBER.search(text) else []
    )


def test_the_first_tenant_finds_its_markers(tenants: Tenants) -> None:
    """Otherwise their absence would say nothing."""
    answers = [ask(tenants.first, method, path) for method, path in named(tenants, "GET", ("mkstream", "mkquery"))]
    assert {marker for text in answers for marker in found(text, "?")} >= {*MARKERS[1:], "count"} - {"mkletter"}


def named(tenants: Tenants, only: str | None, names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [
        (method, re.sub(r"\{[^}]*\}", name, path))
        for method, path in operations(tenants.second)
        if only in (None, method)
        for name in (names if "{" in path else ("",))
    ]


def test_no_answer_to_the_second_tenant_tells_of_the_first(tenants: Tenants) -> None:
    told = {}
    for method, path in named(tenants, "GET", (*NAMES, "mine", "theirs", "m", "default")):
        asked = path.rpartition("/v1/")[2].split("/")[1] if path.count("/") > 2 else "?"
        if markers := found(ask(tenants.second, method, path), asked):
            told[path] = markers
    assert told == {}


def test_names_of_the_first_tenant_are_like_names_that_nobody_has(tenants: Tenants) -> None:
    differ = {}
    for method, path in operations(tenants.second):
        for name, absent in ABSENT.items() if "{" in path else ():
            texts = [normal(ask(tenants.second, method, re.sub(r"\{[^}]*\}", n, path)), n) for n in (name, absent)]
            if texts[0] != texts[1] or not texts[0].startswith("4"):
                differ[f"{method} {path} {name}"] = texts
    assert differ == {}
    assert tenants.first.get("/v1/queries/mkpaused").json["state"] == "paused"
    assert tenants.first.get("/v1/streams/mkstream").json["tuples"] == COUNT


def normal(text: str, name: str) -> str:
    """An answer without the name that was asked for, and without the time."""
    return re.sub(r"'date': '[^']*'|Date: .*|date: .*", "", text.replace(name, "NAME"))


def test_sql_of_the_second_tenant_reads_only_its_own_streams(tenants: Tenants) -> None:
    for relation in ("mkstream", "`acme..mkstream`", "acme.mkstream", "acme..mkstream", "mkstream, mine"):
        absent = relation.replace("mk", "qp").replace("acme", "nope")
        replies = [
            tenants.second.post("/v1/queries", {"name": "spy", "sql": f"SELECT * FROM {r}"}) for r in (relation, absent)
        ]
        texts = [normal(shown(replies[0]), "mkstream"), normal(shown(replies[1]), "qpstream")]
        assert [reply.status for reply in replies] == [422, 422]
        assert texts[0].replace("acme", "nope") == texts[1]


def test_the_second_tenant_may_use_the_names_of_the_first(tenants: Tenants) -> None:
    declare(
        tenants.second,
        "mkstream",
        "mkquery",
        "other bigint",
        "SELECT other FROM mkstream WHERE other > 0",
        '{"other": 5}\n',
    )
    assert tenants.second.get("/v1/streams/mkstream").json["schema"] == "other bigint"
    assert tenants.first.get("/v1/streams/mkstream").json["schema"] == "mkcolumn string"
    assert tenants.first.get("/v1/queries/mkquery").json["tuples_in"] == COUNT
    assert tenants.second.delete("/v1/queries/mkquery").status == 200
    assert tenants.first.get("/v1/queries/mkquery").json["state"] == "running"


def test_who_has_no_tenant_sees_both_by_their_whole_names(tenants: Tenants) -> None:
    names = {item["name"] for item in tenants.boss.get("/v1/streams").json["items"]}
    assert {"acme..mkstream", "rival..mine"} <= names


def test_a_tenant_is_not_told_of_operators_queries_over_its_streams(tenants: Tenants) -> None:
    name = "overseen"
    assert tenants.second.post("/v1/streams", {"name": name, "schema": "v string"}).status == 201
    asked = {"name": "bosses-own", "sql": f"SELECT CAST(v AS int) AS bosses_column FROM `rival..{name}`"}
    assert tenants.boss.post("/v1/queries", asked).status == 201
    assert tenants.second.lines(name, [{"v": "no number"}, {"v": 1}]).json == {"accepted": 1, "rejected": 1}
    path = f"/v1/streams/{name}/dead-letters"
    of_all = until(
        lambda: tenants.boss.get(f"/v1/streams/rival..{name}/dead-letters"), lambda reply: len(reply.json["items"]) == 2
    )
    assert "bosses-own" in of_all.body.decode()
    own = tenants.second.get(path)
    assert ["column 'v'" in letter["reason"] for letter in own.json["items"]] == [True]
    refused = tenants.second.delete(f"/v1/streams/{name}")
    assert refused.status == 409
    assert "bosses" not in own.body.decode() + refused.body.decode()
    assert tenants.boss.delete("/v1/queries/bosses-own").status == 200
    assert tenants.second.delete(f"/v1/streams/{name}").status == 200


@pytest.mark.parametrize("name", ["acme..gone", "acme..secre", "acme..mine.2"])
@pytest.mark.parametrize("place", ["", "header X"])
def test_what_the_engine_says_of_a_thing_that_has_just_gone_names_nothing_of_others(name: str, place: str) -> None:
    """Between the look for a stream and its use it may be dropped: then the engine's error lists everybody's."""
    error = unknown("stream", name, ["acme..mine", "rival..secret", "secret"])
    if place:
        error = error.at(place)
    body = problems.of_error(error, "acme").body
    assert b"secret" not in bytes(body).replace(b"'secre'", b"")
    assert name.removeprefix("acme..").encode() in body
    assert "secret" not in problems.own_words(f"paused: {error}", "acme").replace("'secre'", "")
    assert b"mine" in problems.of_error(unknown("stream", "x", ["mine"]), "acme").body
    assert b"secret" in problems.of_error(HeadgateError("the secret is out"), "acme").body
