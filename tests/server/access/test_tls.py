"""TLS: the cookie and the headers that need it, and files that do not fit."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from http.client import HTTPSConnection
from pathlib import Path

import pytest
from tests.server.access.conftest import Door

from headgate.model import HeadgateError
from headgate.server.settings import TLS

FILES = Path(__file__).parent / "tls"  # a certificate of localhost that is for tests alone
CERTIFICATE, KEY = FILES / "certificate.pem", FILES / "key.pem"


def test_with_tls_the_cookie_is_secure_and_browsers_are_told_to_stay_with_it(doors: Callable[..., Door]) -> None:
    door = doors(tls=TLS(CERTIFICATE, KEY))
    context = ssl.create_default_context(cafile=CERTIFICATE)
    connection = HTTPSConnection("localhost", door.http.port, timeout=20, context=context)
    body = json.dumps({"token": door.token("ann")})
    connection.request("POST", "/v1/login", body, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    connection.close()
    cookie = reply.headers["set-cookie"]
    assert (reply.status, cookie.startswith(f"__Host-headgate-{door.http.port}="), "; Secure" in cookie) == (
        200,
        True,
        True,
    )
    assert reply.headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize(
    ("certificate", "key"), [(CERTIFICATE, FILES / "none.pem"), (KEY, KEY), (CERTIFICATE, CERTIFICATE)]
)
def test_files_that_do_not_fit_are_refused_with_their_names(certificate: Path, key: Path) -> None:
    with pytest.raises(
        HeadgateError, match=r"--tls-cert, --tls-key: cannot use certificate '.*' with key '.*': .*; name PEM"
    ):
        TLS(certificate, key).context()
