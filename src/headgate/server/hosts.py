"""Which names a server answers to, and which pages may ask it.

A page of another site can make a browser send requests to this machine, and with a name that it lets point here
("rebinding") it could even read the answers. So the `Host` of a request must be one of ours, and its `Origin` and
`Sec-Fetch-Site`, which browsers set and pages cannot, must be of our own pages. Only a link to the dashboard may be on
any page: following it shows our page, which has no data of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers

from headgate.server.problems import ForbiddenError, MisdirectedError, RequestError
from headgate.server.settings import Address

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
OWN_SITES = ("same-origin", "none")  # none: typed or a bookmark


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts that a server answers to, in small letters and as the header has them; None for any."""

    names: frozenset[str] | None = None

    @classmethod
    def of(cls, address: Address, allowed: Iterable[str] = ()) -> Hosts:
        """On loopback its names with the port; elsewhere any, unless some are allowed by name.

        >>> sorted(Hosts.of(Address("127.0.0.1", 8440), ["hg.example"]).names)[-3:]
        ['hg.example', 'hg.example:8440', 'localhost:8440']
        """
        more = [name.strip().lower() for name in allowed]
        if not address.loopback and not more:
            return cls()
        host = f"[{address.host}]" if ":" in address.host else address.host
        names = {f"{name}:{address.port}" for name in (*LOCAL_NAMES, host.lower(), *more)}
        if address.port in (80, 443):
            names.update((*LOCAL_NAMES, host.lower()))
        return cls(frozenset(names | set(more)))

    def check(self, headers: Headers, *, page: bool = False) -> None:
        """Refuse a request that is not for us, or comes from a page that is not ours, unless it follows a link to ours.

        `page`: what is asked for is a page of the dashboard.
        """
        given = headers.getlist("host")
        if len(given) != 1 or not given[0]:
            raise RequestError("a request has one header Host", hint="send it once, with the server's name and port")
        host = given[0].lower()
        if self.names is not None and host not in self.names:
            raise MisdirectedError(
                "the header Host names another server than this one",
                hint="use the address that the server printed, or start it with --allow-host NAME",
            )
        for origin in headers.getlist("origin"):
            if origin.lower() not in (f"http://{host}", f"https://{host}"):
                raise _foreign("Origin")
        if page and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document":
            return
        for site in headers.getlist("sec-fetch-site"):
            if site.lower() not in OWN_SITES:
                raise _foreign("Sec-Fetch-Site")


def _foreign(header: str) -> ForbiddenError:
    return ForbiddenError(
        f"the header {header} says that a page of another site asks", hint="only pages of this server may"
    )
