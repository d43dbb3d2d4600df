"""What tenants may use, enforced: queries, classes, result rows kept, waiting tuples, and bytes pushed."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headgate.model import DEFAULT_CLASS, HeadgateError, Spec
from headgate.model.names import namespace
from headgate.server.access.tenants import TenantLimits
from headgate.server.problems import ForbiddenError, TooLargeError, TooManyError
from headgate.server.workspace.names import Names
from headgate.spark.machine.views import QueryView
from headgate.spark.session import Session
from headgate.spark.sinks.memory import ROWS
from headgate.spark.sinks.result_files import ResultFile, listed, rows_in

FRESH = 0.25  # seconds for which a count of waiting tuples is used again
MINUTE = 60.0


@dataclass(slots=True)
class _Bucket:
    """Bytes that may be pushed now, and when that was so."""

    left: float
    at: float


class Quotas:
    """Counts what tenants use and refuses what goes beyond their limits; one for a server."""

    def __init__(self, limits: Callable[[str], TenantLimits], clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._lock = threading.Lock()
        self._buckets: dict[str, _Bucket] = {}
        self._waiting: dict[str, tuple[float, int]] = {}
        self._creating: Counter[str] = Counter()
        self._rows: dict[Path, int] = {}  # of files that were counted already: their content never changes

    def limits(self, tenant: str) -> TenantLimits | None:
        """What a tenant may use; None without a tenant: everything."""
        return self._limits(tenant) if tenant else None

    # -- queries -----------------------------------------------------------------------------------------------

    @contextmanager
    def new_query(self, session: Session, tenant: str, query_class: str | None, sink: str) -> Iterator[None]:
        """Refuse one query too many, and whatever else its definition uses; counts it until it is there."""
        limits = self.limits(tenant)
        if limits is None:
            yield
            return
        _check_class(query_class, limits)
        _check_memory(sink, limits)
        self._check_rows(session, tenant, limits)
        with self._lock:
            self._creating[tenant] += 1
            asked = self._creating[tenant]
        try:
            there = len(own_queries(session, tenant))
            if there + asked > limits.queries:
                hint = "stop one with DELETE /v1/queries/NAME, or ask for more"
                raise ForbiddenError(f"the tenant has {there} queries, and may have {limits.queries}", hint=hint)
            yield
        finally:
            with self._lock:
                self._creating[tenant] -= 1

    def resume(self, session: Session, tenant: str) -> None:
        """Refuse to resume a query while the tenant keeps too many rows: it would only be paused again."""
        limits = self.limits(tenant)
        if limits is not None:
            self._check_rows(session, tenant, limits)

    def _check_rows(self, session: Session, tenant: str, limits: TenantLimits) -> None:
        kept = self.rows_kept(session, tenant)
        if kept >= limits.rows:
            raise ForbiddenError(f"the tenant keeps {kept} rows of results, and may keep {limits.rows}", hint=_MORE)

    # -- pushed rows -------------------------------------------------------------------------------------------

    def push(self, session: Session, tenant: str, size: int) -> None:
        """Refuse a push of so many bytes if too much waits, or too much was pushed in the last minute."""
        limits = self.limits(tenant)
        if limits is None:
            return
        if size > limits.bytes_per_minute:
            hint = "send the rows in several requests, some time apart"
            raise TooLargeError(f"the tenant may push {limits.bytes_per_minute} bytes a minute", hint=hint)
        waiting = self._waits(session, tenant)
        if waiting >= limits.waiting:
            message = f"{waiting} tuples wait for queries of the tenant, and {limits.waiting} may"
            raise TooManyError(message, hint="send the same again later", wait=1)
        wait = self._take(tenant, size, limits.bytes_per_minute)
        if wait:
            message = f"the tenant may push {limits.bytes_per_minute} bytes a minute"
            raise TooManyError(message, hint=f"send the same again in {wait} s", wait=wait)

    def _take(self, tenant: str, size: int, most: int) -> int:
        """Take bytes from a tenant's bucket, which fills within a minute; or tell in how many seconds that can be."""
        with self._lock:
            now = self._clock()
            bucket = self._buckets.setdefault(tenant, _Bucket(most, now))
            bucket.left = min(most, bucket.left + (now - bucket.at) * most / MINUTE)
            bucket.at = now
            if size > bucket.left:
                return max(1, math.ceil((size - bucket.left) * MINUTE / most))
            bucket.left -= size
            return 0

    def _waits(self, session: Session, tenant: str) -> int:
        counted, waiting = self._waiting.get(tenant, (-math.inf, 0))
        now = self._clock()
        if now - counted > FRESH:
            waiting = sum(view.waiting for view in own_queries(session, tenant))
            self._waiting[tenant] = (now, waiting)
        return waiting

    # -- results that are kept ---------------------------------------------------------------------------------

    def rows_kept(self, session: Session, tenant: str) -> int:
        """Rows in the result files of a tenant, also of queries that were stopped."""
        results, start = session.engine.directory.results, Names(tenant).whole("")
        folders = [folder for folder in results.iterdir() if folder.name.startswith(start)]
        return sum(self._count(file.path) for folder in folders for file in _files(folder))

    def _count(self, path: Path) -> int:
        if path not in self._rows:
            try:
                self._rows[path] = rows_in(path)
            except FileNotFoundError:  # merged with others just now
                return 0
        return self._rows[path]

    def pause_those_over(self, session: Session) -> list[str]:
        """Pause the queries of tenants that keep too many rows; returns their names."""
        views = [view for view in session.engine.overview().queries if view.state == "running"]
        tenants = {namespace(view.query.name) for view in views} - {""}
        over = {tenant: limits for tenant in tenants if (limits := self._over(session, tenant)) is not None}
        paused = []
        for view in views:
            limits = over.get(namespace(view.query.name))
            if limits is not None and _pause(session, view.query.name, limits):
                paused.append(view.query.name)
        self._forget()
        return paused

    def _over(self, session: Session, tenant: str) -> TenantLimits | None:
        limits = self._limits(tenant)
        return limits if self.rows_kept(session, tenant) > limits.rows else None

    def _forget(self) -> None:
        """Forget files that are gone."""
        self._rows = {path: rows for path, rows in self._rows.items() if path.exists()}


_MORE = "ask for more; the server's operator may remove results of queries that were stopped"


def own_queries(session: Session, tenant: str) -> list[QueryView]:
    """The queries of a tenant."""
    names = Names(tenant)
    return [view for view in session.engine.overview().queries if names.has(view.query.name)]


def _files(folder: Path) -> list[ResultFile]:
    try:
        return listed(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _pause(session: Session, query: str, limits: TenantLimits) -> bool:
    try:
        session.engine.pause(query, f"the tenant may keep {limits.rows} rows of results, and keeps more")
    except HeadgateError:  # it has ended, or was stopped meanwhile
        return False
    return True


def _check_class(query_class: str | None, limits: TenantLimits) -> None:
    if query_class is None and limits.allowed is not None and DEFAULT_CLASS.name not in limits.allowed:
        known = ", ".join(sorted(limits.allowed)) or "none"
        raise HeadgateError("the query names no class", hint=f"name one that the tenant may use: {known}")


def _check_memory(sink: str, limits: TenantLimits) -> None:
    spec = Spec.parse(sink)
    rows = spec.settings.get("rows", ROWS)
    if spec.name == "memory" and isinstance(rows, int) and rows > limits.rows:
        raise ForbiddenError(
            f"the sink keeps {rows} rows, and the tenant may keep {limits.rows}", hint="write memory, rows=N"
        )
