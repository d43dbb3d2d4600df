"""What of the machine somebody may use over the network: files, ports and catalogs of the server.

The checks of files give the folder in which they lie: what opens them stays in it, whatever links are put there later.

Nothing, unless whoever starts the server allows it by name, and then only an operator without a tenant. None of
Headgate's sources and sinks takes credentials, so no definition holds any.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from headgate.model import HeadgateError, Spec
from headgate.server.access.roles import Principal, Role
from headgate.server.problems import ForbiddenError
from headgate.spark.sinks.registry import parse_sink
from headgate.workload.arrivals import ARRIVALS
from headgate.workload.settings import Settings

PLAIN_SINKS = ("parquet", "jsonl", "memory", "blackhole")  # keep results where everybody's are, or nowhere
LOOPBACK = "127.0.0.1"  # where the source `socket` listens


@dataclass(frozen=True, slots=True)
class Resources:
    """What is allowed: folders, addresses as HOST:PORT, and tables of Spark's catalog, with * for any letters."""

    paths: tuple[Path, ...] = ()
    addresses: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    def check_source(self, text: str | None, principal: Principal) -> Path | None:
        """Refuse the source of a stream that touches what is not allowed; gives the folder of its files."""
        if text is None:
            return None
        if principal.tenant:
            raise ForbiddenError(
                "a stream of a tenant has no source: what it may push is limited, and a source is not",
                hint="leave source out, and push rows to POST /v1/streams/NAME/rows",
            )
        settings = Settings(text)
        if settings.name in ARRIVALS:
            if "file" in settings:
                return self._check_file(
                    str(settings.word("file")), f"the source '{settings.name}' with a file", principal
                )
        elif settings.name == "directory":
            return self._check_file(settings.word("path") or "", "the source 'directory'", principal)
        elif settings.name == "socket":
            self._check_address(f"{LOOPBACK}:{settings.word('port') or 0}", principal)
        else:
            _check_operator(principal, f"the source '{settings.name}'")
            raise ForbiddenError(
                f"the source '{settings.name}' is not for the network", hint="put it into the server's workload file"
            )
        return None

    def check_sink(self, text: str | None, principal: Principal) -> None:
        """Refuse the sink of a query that touches what is not allowed."""
        spec = parse_sink("parquet" if text is None else text)
        if spec.name in PLAIN_SINKS:
            return
        _check_operator(principal, f"the sink '{spec.name}'")
        if spec.name == "table":
            self._check_table(spec)
        elif spec.name != "console":
            raise ForbiddenError(
                f"the sink '{spec.name}' is not for the network", hint=f"choose among {', '.join(PLAIN_SINKS)}"
            )

    def check_table(self, path: str, principal: Principal) -> Path:
        """Refuse a stored table whose files are not below an allowed folder; gives that folder."""
        return self._check_file(path, "a table of the server's files", principal)

    def _check_file(self, path: str, what: str, principal: Principal) -> Path:
        _check_operator(principal, what)
        folder = next((folder for folder in self.paths if _below(path, folder)), None)
        if folder is None:
            allowed = "started with --allow-path for its folder" if self.paths else "started without --allow-path"
            raise ForbiddenError(
                f"the path '{path[:200]}' is not one that the server may use over the network",
                hint=f"the server must be {allowed}" if self.paths else f"the server was {allowed}",
            )
        return folder.resolve()

    def _check_address(self, address: str, principal: Principal) -> None:
        _check_operator(principal, "the source 'socket'")
        if address not in self.addresses:
            raise ForbiddenError(
                f"the address {address[:80]} is not one that the server may use for streams",
                hint=f"the server must be started with --allow-connect {LOOPBACK}:PORT",
            )

    def _check_table(self, spec: Spec) -> None:
        name = str(spec.settings.get("name", ""))
        if not any(fnmatchcase(name, pattern) for pattern in self.tables):
            raise ForbiddenError(
                f"the table '{name[:80]}' is not one that the server may write to",
                hint="the server must be started with --allow-table NAME",
            )


def _check_operator(principal: Principal, what: str) -> None:
    if principal.tenant or not principal.role.covers(Role.OPERATE):
        raise ForbiddenError(
            f"{what} uses what belongs to the server, and needs the role operate without a tenant",
            hint="ask somebody with such a token",
        )


def _below(path: str, folder: Path) -> bool:
    """Whether a path lies in a folder, after links are followed; what is no path of this machine never does."""
    if not path or "://" in path or "\0" in path or set("*?[]{}\\") & set(path):  # Spark takes such paths for patterns
        return False
    try:
        return Path(path).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def check_addresses(texts: list[str]) -> tuple[str, ...]:
    """The values of --allow-connect, if they are addresses."""
    for text in texts:
        host, _, port = text.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65535:
            raise HeadgateError(f"'{text}' is no address", where="--allow-connect", hint='write "127.0.0.1:9999"')
    return tuple(texts)
