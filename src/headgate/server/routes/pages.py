"""The dashboard: one page for all its addresses, and the files that it is made of.

They are built from `web/` by `make web`. They contain no data, so whoever reaches the server may have them; what the
page shows it asks of the routes under /v1, which check who asks.
"""

from __future__ import annotations

import gzip
import mimetypes
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated

from fastapi import Depends, Header, Response

from headgate.server.access.roles import Role, allow
from headgate.server.problems import NotFoundError
from headgate.server.routes.common import router

PANES = (
    "classes", "inversions", "login", "network", "new", "policies", "queries", "streams", "timeline", "what-if",
)  # fmt: skip
_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}  # a file with other content has another name
_ANEW = {"cache-control": "no-cache"}

routes = router("pages", prefix="")


def _public(path: str) -> None:
    """Answer an address of the dashboard with its page."""
    routes.add_api_route(
        path,
        page,
        methods=["GET"],
        openapi_extra=allow(Role.PUBLIC),
        include_in_schema=False,
    )


@cache
def _folder() -> Traversable:
    return files("headgate.server") / "web"


@cache
def _file(name: str, accepted: str) -> Response:
    """A file, compressed for whoever takes that: scripts come in a third of the bytes."""
    data = _folder().joinpath(*name.split("/")).read_bytes()
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {**(_FOR_EVER if "/" in name else _ANEW), "vary": "accept-encoding"}
    if accepted == "gzip":
        data, headers["content-encoding"] = gzip.compress(data, mtime=0), "gzip"
    return Response(data, media_type=kind, headers=headers)


@cache
def _assets() -> frozenset[str]:
    return frozenset(item.name for item in (_folder() / "assets").iterdir())


def _wanted(accept_encoding: Annotated[str, Header(max_length=2000)] = "") -> str:
    return "gzip" if "gzip" in accept_encoding else ""


Encoding = Annotated[str, Depends(_wanted)]


@routes.get("/icon.svg", openapi_extra=allow(Role.PUBLIC), include_in_schema=False)
async def icon(encoding: Encoding) -> Response:
    """The mark of the page."""
    return _file("icon.svg", encoding)


@routes.get("/assets/{name}", openapi_extra=allow(Role.PUBLIC), include_in_schema=False)
async def asset(name: str, encoding: Encoding) -> Response:
    """A script or a style sheet."""
    if name not in _assets():
        raise NotFoundError("there is no such file of the dashboard", hint="load the page again")
    return _file(f"assets/{name}", encoding)


async def page(encoding: Encoding) -> Response:
    """The page; its script shows the pane that the address names."""
    return _file("index.html", encoding)


for pane in PANES:
    _public(f"/{pane}")
    _public(f"/{pane}/{{name:path}}")
_public("/")
