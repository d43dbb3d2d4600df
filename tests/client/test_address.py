"""Which server is asked, and with which token."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.client.address import find
from headgate.model import HeadgateError

PROFILES = """
[profile.default]
server = "http://127.0.0.1:1111"
token = "default-token"

[profile.plant]
server = "https://plant.example.org/"
token = "plant-token"
ca = "/ca.pem"
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose home has a profile file."""
    file = tmp_path / ".config" / "headgate" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(PROFILES)
    file.chmod(0o600)
    return {"HOME": str(tmp_path)}


def test_an_argument_wins_over_the_environment_and_that_over_the_profile(home: dict[str, str]) -> None:
    named = {**home, "HEADGATE_SERVER": "http://127.0.0.1:2222"}
    assert find("http://127.0.0.1:3333", environment=named).url == "http://127.0.0.1:3333"
    assert find(environment=named).url == "http://127.0.0.1:2222"
    assert find(environment=home).url == "http://127.0.0.1:1111"
    assert find(environment={"HOME": "/nowhere"}).url == "http://127.0.0.1:8440"


def test_a_profile_has_its_own_token_and_authority(home: dict[str, str]) -> None:
    found = find(profile="plant", environment={**home, "HEADGATE_SERVER": "http://127.0.0.1:2222"})
    assert (found.url, found.token, found.ca) == ("https://plant.example.org", "plant-token", "/ca.pem")


def test_a_token_of_a_profile_goes_to_no_other_server(home: dict[str, str]) -> None:
    assert find("http://127.0.0.1:3333", environment=home).token is None
    assert find("https://plant.example.org", environment=home).token == "plant-token"
    assert find("http://127.0.0.1:3333", "given", environment=home).token == "given"
    assert find("http://127.0.0.1:3333", environment={**home, "HEADGATE_TOKEN": "named"}).token == "named"


def test_a_profile_file_that_others_can_read_is_noted(home: dict[str, str]) -> None:
    assert find(environment=home).notes == ()
    (Path(home["HOME"]) / ".config/headgate/config.toml").chmod(0o644)
    (told,) = find(environment=home).notes
    assert "others can read it; chmod 600" in told


def test_a_token_that_travels_unencrypted_is_noted() -> None:
    (told,) = find("http://plant.example.org", "t", environment={"HOME": "/nowhere"}).notes
    assert "unencrypted" in told


def test_no_token_is_shown() -> None:
    assert "s3cret" not in repr(find("http://host", "s3cret", environment={"HOME": "/nowhere"}))


@pytest.mark.parametrize(
    "url", ["ftp://host", "http://", "http://host:0", "http://host:99999", "http://ho st", "http://[::1", "\x1b", ""]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(HeadgateError, match="is not the address of a server"):
        find(url or " ", environment={"HOME": "/nowhere"})


@pytest.mark.parametrize("url", ["http://user:s3cret@host", "http://host?token=s3cret", "http://host#s3cret"])
def test_an_address_with_a_secret_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(HeadgateError, match="HEADGATE_TOKEN") as refused:
        find(url, environment={"HOME": "/nowhere"})
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("profile = 3", "profile must be a table"),
        ("[profile.default]\ntoken = 'x'", "server is missing"),
        ("[profile.default]\nserver = 3", "server must be text"),
        ("[profile.default]\nserver = 'http://h'\npassword = 'x'", "unknown key 'password'"),
        ("[profile", "not TOML"),
    ],
)
def test_a_wrong_profile_file_is_refused_in_one_line(text: str, told: str, home: dict[str, str]) -> None:
    (Path(home["HOME"]) / ".config/headgate/config.toml").write_text(text)
    with pytest.raises(HeadgateError, match=told) as refused:
        find(environment=home)
    assert "\n" not in str(refused.value)


def test_an_unknown_profile_is_refused(home: dict[str, str]) -> None:
    with pytest.raises(HeadgateError, match="unknown profile 'plnt'; did you mean 'plant'"):
        find(profile="plnt", environment=home)
    with pytest.raises(HeadgateError, match="both given"):
        find("http://h", profile="plant", environment=home)
