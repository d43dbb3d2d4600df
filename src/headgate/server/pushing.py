"""Rows that are pushed over HTTP: read within limits, parsed by their content type, and appended durably."""

from __future__ import annotations

from fastapi import Request

from headgate.server.problems import TooLargeError, WrongTypeError
from headgate.server.workspace import Workspace
from headgate.spark.ingest.parsing.records import to_table

LARGEST = 64 << 20  # bytes of one body
TYPES = ("application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream")


async def read_body(request: Request, largest: int = LARGEST) -> bytes:
    """The body of a request, unless it is too large."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > largest:
        raise _too_large(largest)
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > largest:
            raise _too_large(largest)
        parts.append(part)
    return b"".join(parts)


def push(asked: Workspace, stream: str, content_type: str, body: bytes, key: str | None) -> tuple[int, int]:
    """Append the rows of a body to a stream; returns how many were accepted and how many rejected."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in TYPES:
        raise WrongTypeError(
            f"rows come as {', '.join(TYPES)}, found '{kind or 'no content type'}'", hint="set the header Content-Type"
        )
    engine = asked.session.engine
    lines = [line for line in body.decode("utf-8", "surrogateescape").splitlines() if line.strip()]
    table, rejected = to_table(lines, engine.streams[stream])
    if rejected:
        engine.reject(stream, tuple(rejected))
    return engine.append(stream, table, key), len(rejected)


def _too_large(largest: int) -> TooLargeError:
    return TooLargeError(
        f"a body may have at most {largest >> 20} MiB", hint="send the rows in several requests, a part in each"
    )
