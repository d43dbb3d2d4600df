"""Rows that are pushed over HTTP: parsed by their content type, and appended durably, once for each key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from headgate.model import Stream
from headgate.server.access.roles import Principal
from headgate.server.problems import WrongTypeError
from headgate.server.workspace import Workspace
from headgate.spark.ingest.parsing.pushed import arrow_stream_bytes, csv_bytes, json_lines_bytes
from headgate.spark.ingest.parsing.records import Read

PATIENCE = 1.0  # seconds that a push waits if a query's lag limit makes sources wait, before it is refused with 429
PARSERS: dict[str, Callable[[bytes, Stream], Read]] = {
    "application/x-ndjson": json_lines_bytes,
    "text/csv": csv_bytes,
    "application/vnd.apache.arrow.stream": arrow_stream_bytes,
}


def push(asked: Workspace, stream: str, content_type: str, body: bytes, key: str | None) -> dict[str, int]:
    """Append the rows of a body to a stream; returns how many were accepted and how many rejected, once it is durable.

    With a key, a push that is repeated changes nothing: the log remembers it, also after a crash.
    """
    parse = parser(content_type)
    asked.admit_push(len(body))
    session = asked.session
    read = parse(body, asked.streams.declared(stream))
    batch = None if key is None else batch_id(asked.principal, key, body)
    pushed = session.push(stream, read, batch=batch, timeout=PATIENCE)
    return {"accepted": pushed.accepted, "rejected": pushed.rejected}


def parser(content_type: str) -> Callable[[bytes, Stream], Read]:
    """What reads a body of a content type."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in PARSERS:
        raise WrongTypeError(
            f"rows come as {', '.join(PARSERS)}, found '{kind or 'no content type'}'",
            hint="set the header Content-Type",
        )
    return PARSERS[kind]


def check_plain(encoding: str) -> None:
    """Refuse a compressed body: as it is, it would be one row that nobody can read."""
    if encoding.strip().lower() not in ("", "identity"):
        raise WrongTypeError(
            f"rows come uncompressed, found Content-Encoding '{encoding.strip()}'", hint="send them as they are"
        )


def batch_id(principal: Principal, key: str, body: bytes) -> str:
    """The id of a batch in the log: keys of different tokens are different, and so are different bodies under one key.

    Until the server is started anew, another body under a key is refused before it comes here. After that it is new to
    the log, and its rows are appended: taking it for a repetition would lose them.

    >>> from headgate.server.access.roles import LOCAL, Role
    >>> batch_id(LOCAL, "a-1", b"{}") == batch_id(Principal("other", Role.SUBMIT), "a-1", b"{}")
    False
    """
    whose = f"{principal.name}\0{key}".encode("utf-8", "backslashreplace")
    digest = hashlib.blake2b(whose, digest_size=16)
    digest.update(b"\0")
    digest.update(hashlib.blake2b(body, digest_size=16).digest())
    return digest.hexdigest()
