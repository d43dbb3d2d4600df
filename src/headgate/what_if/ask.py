"""What-if as a call: the answer of `headgate what-if --json` for programs, which needs neither Spark nor a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate.history.history import History
from headgate.history.ring import read_history
from headgate.model import HeadgateError, unknown
from headgate.plan.fusion import Fuse
from headgate.policies.adaptive.regret import Regret, adaptive_candidates
from headgate.policies.registry import create
from headgate.what_if.added import Effect
from headgate.what_if.comparison import TARGETS, Comparison, check_measure, measured, relative_error
from headgate.what_if.latest import latest
from headgate.what_if.learned import Learned
from headgate.what_if.question import Changed, query_of_sql
from headgate.what_if.replay import replay
from headgate.what_if.response_times import Judged

_DAMAGE = (
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
)  # what records with wrong values may raise


@dataclass(frozen=True, slots=True)
class AddedQuery:
    """A query that is not there; a comment in its SQL may say its class, as `-- class: normal`."""

    sql: str
    query_class: str | None = None
    name: str = "added"


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be different, as the options of `headgate what-if` say it."""

    policies: tuple[str, ...] = ()  # without any the recorded one is asked
    fuse: str | None = None
    priorities: Mapping[str, float] = field(default_factory=dict)  # by class
    workers: int | None = None
    added: tuple[AddedQuery, ...] = ()
    rate: float = 1.0
    seed: int = 0
    by: str | None = None  # what ranks; targets if any query has one, else the mean
    regret: bool = (
        False  # compare adaptive with its candidates; also if the recorded policy is adaptive and none is given
    )


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question that can be answered from what was learned."""

    learned: Learned
    changed: Changed
    policies: tuple[str, ...]
    by: str
    candidates: Mapping[str, list[str]]  # of adaptive policies whose regret is asked for

    @classmethod
    def of(cls, learned: Learned, question: Question, changed: Changed | None = None) -> Inquiry:
        """Refuses what cannot be asked; `changed` if what is different has been read already."""
        changed = _changed(learned, question) if changed is None else changed
        changed.check(learned)
        for policy in question.policies:
            create(policy)
        by = question.by or (TARGETS if learned.recorded.targets else "mean")
        check_measure(by, learned.recorded)
        recorded = learned.settings.last.policy
        given = tuple(dict.fromkeys(question.policies))
        candidates = adaptive_candidates(given or [recorded]) if question.regret or not given else {}
        if question.regret and not candidates:
            raise HeadgateError(
                "--regret compares adaptive with its candidates, and no recorded or given policy is adaptive",
                hint='add --policy "adaptive, candidates=[hr, fcfs]"',
            )
        if not given and not candidates and not changed.anything:
            raise HeadgateError(
                "nothing is to be different",
                hint="add --policy fcfs, or --workers, --rate, --fuse, --priority or --add",
            )
        more = (candidate for theirs in candidates.values() for candidate in theirs)
        return cls(learned, changed, tuple(dict.fromkeys([*(given or [recorded]), *more])), by, candidates)

    def tasks(self) -> dict[str | None, Changed]:
        """The replays to be done: policies with what is different; None: what was recorded, with nothing different."""
        return {None: Changed(seed=self.changed.seed), **dict.fromkeys(self.policies, self.changed)}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of the replays."""

    inquiry: Inquiry
    comparison: Comparison
    failed: Mapping[str, str]  # why, by policy

    @classmethod
    def of(
        cls, inquiry: Inquiry, replayed: Judged, finished: Mapping[str, Judged], failed: Mapping[str, str]
    ) -> Answer:
        ordered = {policy: finished[policy] for policy in inquiry.policies if policy in finished}
        members: dict[str, list[str]] = {}
        for query in inquiry.learned.settings.last.queries.values():
            members.setdefault(query.query_class, []).append(query.name)
        return cls(inquiry, Comparison(inquiry.learned.recorded, replayed, ordered, members), failed)

    @property
    def regrets(self) -> list[Regret]:
        """Of each adaptive policy whose regret is asked for."""
        values = {policy: measured(judged, self.inquiry.by) for policy, judged in self.comparison.policies.items()}
        return [
            Regret.of(policy, theirs, values, self.inquiry.by != TARGETS)
            for policy, theirs in self.inquiry.candidates.items()
            if policy in values
        ]

    def regret_within_error(self, regret: Regret) -> bool | None:
        """Whether a regret is so small that it says nothing; None if that cannot be told."""
        error = relative_error(self.comparison, self.inquiry.by)
        return None if regret.share is None or error is None else abs(regret.share) <= error

    @property
    def effect(self) -> Effect | None:
        """What added queries do, if nothing else is different; None otherwise."""
        changed, recorded = self.inquiry.changed, self.inquiry.learned.settings.last.policy
        if not changed.added or recorded not in self.comparison.policies:
            return None
        if changed != Changed(added=changed.added, seed=changed.seed):
            return None
        return Effect.of(self.comparison, recorded, changed.added)

    def to_json(self) -> dict[str, Any]:
        tree = self.comparison.to_json(self.inquiry.by) | {"failed": dict(self.failed)}
        if self.inquiry.candidates:
            tree["regret"] = {
                found.policy: found.to_json() | {"within_error": self.regret_within_error(found)}
                for found in self.regrets
            }
        if (effect := self.effect) is not None:
            tree["added"] = effect.to_json()
        return tree


def learn(source: History | str | Path, last: float | None = None) -> Learned:
    """What a history tells, or that of a data directory, which may be in use; of the last so many seconds if given."""
    history = source if isinstance(source, History) else read_history(source)
    if not history.runs:
        raise HeadgateError("nothing has run yet", hint="ask again when something has")
    part = latest(history, last)
    try:
        return Learned.of(part)
    except _DAMAGE as error:
        raise HeadgateError(f"its records cannot be read: {error!r}", hint="record it again") from None


def ask(source: History | Learned | str | Path, question: Question, last: float | None = None) -> dict[str, Any]:
    """The JSON of `headgate what-if` for a history or a data directory.

    `last` leaves out all but the last so many seconds, and makes it quick. Who asks often learns once (`learn`).
    """
    learned = source if isinstance(source, Learned) else learn(source, last)
    return answer(Inquiry.of(learned, question)).to_json()


def ask_added(
    source: History | Learned | str | Path,
    sql: str,
    query_class: str | None = None,
    name: str = "added",
    last: float | None = None,
) -> dict[str, Any]:
    """Which classes one more query would slow down, and by how much.

    Under `classes` the predicted mean response time of each class's recorded queries `without` it and `with` it, the
    `change`, and the `error` of the replay; under `slower` the classes for which the change says something.
    """
    question = Question(added=(AddedQuery(sql, query_class, name),))
    found: dict[str, Any] = ask(source, question, last)["added"]
    return found


def answer(inquiry: Inquiry) -> Answer:
    """Do the replays one after the other."""
    return conclude(inquiry, _one_by_one(inquiry))


def conclude(inquiry: Inquiry, done: Iterable[tuple[str | None, Judged | HeadgateError]]) -> Answer:
    """Put together what came of replays, by policy; None is the recorded one. Some may be missing, but not that."""
    replayed: Judged | None = None
    finished: dict[str, Judged] = {}
    failed: dict[str, str] = {}
    for policy, judged in done:
        if policy is None:
            if isinstance(judged, HeadgateError):
                raise judged
            replayed = judged
        elif isinstance(judged, HeadgateError):
            failed[policy] = str(judged)
        else:
            finished[policy] = judged
    if replayed is None:
        raise HeadgateError("the recorded policy was not replayed", hint="ask again")
    return Answer.of(inquiry, replayed, finished, failed)


def _one_by_one(inquiry: Inquiry) -> Iterator[tuple[str | None, Judged | HeadgateError]]:
    for policy, changed in inquiry.tasks().items():
        try:
            yield policy, replay(inquiry.learned, policy, changed)
        except HeadgateError as error:
            yield policy, error


def _changed(learned: Learned, question: Question) -> Changed:
    if question.fuse is not None and question.fuse not in list(Fuse):
        raise unknown("value for --fuse", question.fuse, [each.value for each in Fuse])
    return Changed(
        None if question.fuse is None else Fuse(question.fuse),
        question.priorities,
        question.workers,
        tuple(query_of_sql(one.sql, learned, one.name, one.query_class) for one in question.added),
        question.rate,
        question.seed,
    )
