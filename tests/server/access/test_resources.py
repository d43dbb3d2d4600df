"""What of the machine is used over the network: nothing that was not allowed by name, and only by operators."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.model import HeadgateError
from headgate.server.access.resources import Resources, check_addresses
from headgate.server.access.roles import LOCAL, Principal, Role
from headgate.server.problems import ForbiddenError

SUBMITTER = Principal("ann", Role.SUBMIT)
TENANT = Principal("bob", Role.OPERATE, "acme")


@pytest.fixture
def allowed(tmp_path: Path) -> Resources:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "in" / "rows.csv").touch()
    return Resources((tmp_path / "in",), ("127.0.0.1:9999",), ("db.*",))


SOURCES = [
    "directory, path={}/in",
    "poisson, rate=5, file={}/in/rows.csv",
    "trace, file={}/in/rows.csv",
    "socket, port=9999",
]


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_allowed_is_for_operators_without_a_tenant(allowed: Resources, tmp_path: Path, source: str) -> None:
    text = source.format(tmp_path)
    allowed.check_source(text, LOCAL)
    for principal in (SUBMITTER, TENANT, Principal("eve", Role.VIEW)):
        with pytest.raises(ForbiddenError):
            allowed.check_source(text, principal)
    with pytest.raises(ForbiddenError):
        Resources().check_source(text, LOCAL)


@pytest.mark.parametrize(
    "path",
    [
        "{}/out", "{}/in/../out", "{}/in/link", "{}/in/link/x", "/etc", "/", ".", "..", "", "{}/in*", "{}/input", "file:///etc",
        "{}/in/deep/../../out", "hdfs://host/x", "~", "{}/in/\\..", "{}/{{in,out}}", "jar:{}/in",
    ],
)  # fmt: skip
def test_paths_elsewhere_are_refused(allowed: Resources, tmp_path: Path, path: str) -> None:
    where = path.format(tmp_path)
    with pytest.raises(HeadgateError):
        allowed.check_source(f"directory, path={where}", LOCAL)
    with pytest.raises(ForbiddenError):
        allowed.check_table(where, LOCAL)


@pytest.mark.parametrize(
    "path", ["{}/in", "{}/in/deep", "{}/in/rows.csv", "{}/in/deep/../rows.csv", "{}/in/new.parquet"]
)
def test_paths_below_an_allowed_folder_are_taken(allowed: Resources, tmp_path: Path, path: str) -> None:
    allowed.check_table(path.format(tmp_path), LOCAL)


def test_rows_that_are_made_up_need_no_files(allowed: Resources) -> None:
    for text in ("poisson, rate=5", "constant, rate=5, path=[a, b]"):  # path may be a column
        allowed.check_source(text, SUBMITTER)
        with pytest.raises(ForbiddenError, match="a stream of a tenant has no source"):
            allowed.check_source(text, TENANT)
    allowed.check_source(None, TENANT)


@pytest.mark.parametrize(
    "source", ["socket, port=1", "socket", "iterator", "kafka, topic=x", "directory", "/etc/passwd"]
)
def test_other_sources_are_refused(allowed: Resources, source: str) -> None:
    with pytest.raises(ForbiddenError):
        allowed.check_source(source, LOCAL)


@pytest.mark.parametrize("sink", ["parquet", "jsonl", "memory, rows=5", "blackhole", "parquet, behind=0", None])
def test_sinks_that_keep_results_where_all_are_kept_are_for_everybody(sink: str | None) -> None:
    Resources().check_sink(sink, TENANT)


def test_a_table_of_the_catalog_is_for_operators_and_must_be_allowed(allowed: Resources) -> None:
    allowed.check_sink("table, name=db.alerts", LOCAL)
    allowed.check_sink("console", LOCAL)
    for sink, principal in (
        ("table, name=other.alerts", LOCAL),
        ("table, name=db.alerts", SUBMITTER),
        ("table, name=db.alerts", TENANT),
        ("console", SUBMITTER),
        ("callback", LOCAL),
    ):
        with pytest.raises(ForbiddenError):
            allowed.check_sink(sink, principal)


@pytest.mark.parametrize("text", ["", "9999", ":9999", "host:", "host:x", "host:99999"])
def test_addresses_are_a_host_and_a_port(text: str) -> None:
    with pytest.raises(HeadgateError, match="is no address"):
        check_addresses([text])
