"""What is asked: the recorded stretch of time, but with something different."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headgate.core.events import Declared, Event
from headgate.core.scheduler import Scheduler
from headgate.core.trace import scheduler_of
from headgate.model import HeadgateError, Query, unknown
from headgate.model.codec import to_plain
from headgate.model.names import check_name
from headgate.plan.fusion import Fuse
from headgate.plan.sql.query import plan_sql
from headgate.what_if.learned import Learned

FASTEST = 1000.0  # times the recorded rates
_CLASS, _NAME = "class:", "name:"  # in comments of a file with SQL


@dataclass(frozen=True, slots=True)
class Changed:
    """What is different beside the policy; as it was recorded where nothing is said."""

    fuse: Fuse | None = None
    priorities: Mapping[str, float] = field(default_factory=dict)  # by class
    workers: int | None = None
    added: tuple[Query, ...] = ()
    rate: float = 1.0  # so many times as many tuples
    seed: int = 0

    def check(self, learned: Learned) -> None:
        """Refuse what the history does not know, and numbers that mean nothing."""
        if self.workers is not None and self.workers < 1:
            raise HeadgateError(f"--workers must be at least 1, found {self.workers}", hint="write for example 2")
        if not 0 < self.rate <= FASTEST:
            raise HeadgateError(
                f"--rate must be above 0 and at most {FASTEST:g}, found {self.rate:g}", hint="write for example 1.5"
            )
        for name, priority in self.priorities.items():
            if name not in learned.settings.last.classes:
                raise unknown("class", name, learned.settings.last.classes, where="--priority")
            if not 0 < priority < math.inf:
                raise HeadgateError(
                    f"--priority wants a class and a number above 0, found '{name}={priority:g}'",
                    hint="write critical=80",
                )
        for place, query in enumerate(self.added):
            if query.name in (other.name for other in self.added[:place]):
                raise HeadgateError(f"query '{query.name}' is added twice", where="--add", hint="give it another name")
            if query.name in learned.settings.last.queries:
                raise HeadgateError(
                    f"query '{query.name}' was recorded already", where="--add", hint="give it another name"
                )

    def applied_to(self, event: Event) -> Event:
        """An event of the record, changed: a class that is declared meanwhile has its other priority from the start.

        >>> from headgate.model import QueryClass
        >>> Changed(priorities={"low": 5.0}).applied_to(Declared(query_class=QueryClass("low", 1.0)))
        Declared(stream=None, query_class=QueryClass(name='low', priority=5.0, lag=None, target=None))
        """
        if not isinstance(event, Declared) or event.query_class is None:
            return event
        made = event.query_class
        return replace(event, query_class=replace(made, priority=self.priorities.get(made.name, made.priority)))

    @property
    def anything(self) -> bool:
        """Whether anything is different."""
        return self != Changed(seed=self.seed)


def scheduler_for(learned: Learned, policy: str | None, changed: Changed) -> Scheduler:
    """The scheduler of a replay, as it is at the beginning; without a policy the recorded one decides."""
    settings = learned.settings
    header: dict[str, Any] = dict(settings.header)
    header["policy"] = policy or header["policy"]
    header["streams"] = to_plain(list({**settings.first.streams, **settings.last.streams}.values()))
    header["tables"] = to_plain(list({**settings.first.tables, **settings.last.tables}.values()))
    classes = {**settings.first.classes}
    for query in changed.added:
        classes.setdefault(query.query_class, settings.last.classes[query.query_class])
    prioritized = [replace(one, priority=changed.priorities.get(name, one.priority)) for name, one in classes.items()]
    header["classes"] = to_plain(prioritized)
    header["queries"] = [*header["queries"], *to_plain(list(changed.added))]
    header["fuse"] = header["fuse"] if changed.fuse is None else changed.fuse.value
    header["workers"] = workers_of(learned, changed)
    rates = {stream: rate * changed.rate for stream, rate in header["measured"]["rates"].items()}
    header["measured"] = {**header["measured"], "rates": rates}
    if changed.added:  # shared operators may have other numbers: what the plans say is measured anew
        header["operators"] = {}
    return scheduler_of(header)


def workers_of(learned: Learned, changed: Changed) -> int:
    """How many workers there are."""
    return changed.workers or int(learned.settings.header.get("workers", 1))


def query_of_file(path: Path, learned: Learned, query_class: str | None = None) -> Query:
    """The query in a file with SQL.

    Its name is that of the file; comments may say both, as `-- name: hot` and `-- class: critical`.
    """
    try:
        sql = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise HeadgateError("this is not a file with SQL", where=str(path), hint="give a text file") from None
    return query_of_sql(sql, learned, path.stem, query_class, where=str(path))


def query_of_sql(sql: str, learned: Learned, name: str, query_class: str | None = None, where: str = "") -> Query:
    """The query of a text with SQL; comments in it may say its name and its class."""
    classes = learned.settings.last.classes
    try:
        name = check_name(said_in(sql, _NAME) or name, "the query's name")
    except HeadgateError as error:
        raise (error.at(where) if where else error) from None
    chosen = query_class or said_in(sql, _CLASS)
    if chosen is None and len(classes) == 1:
        (chosen,) = classes
    if chosen is None:
        hint = f"write '-- class: {next(iter(classes))}' above the SQL, or say it with --add-class"
        raise HeadgateError(f"the class of query '{name}' is not said", where=where, hint=hint)
    if chosen not in classes:
        raise unknown("class", chosen, classes, where=where)
    try:
        plan = plan_sql(sql, learned.settings.last.streams, learned.settings.last.tables)
    except HeadgateError as error:
        raise (error.at(where) if where else error) from None
    return Query(name=name, query_class=chosen, plan=plan, sql=sql)


def said_in(sql: str, key: str) -> str | None:
    r"""What a comment in SQL says of a query.

    >>> said_in("-- class: critical\nSELECT 1", "class:")
    'critical'
    """
    for line in sql.splitlines():
        text = line.strip()
        if text.startswith("--") and text.removeprefix("--").strip().lower().startswith(key):
            return text.split(":", 1)[1].strip() or None
    return None
