from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headgate.model import IDLE, Choice, ClassId, Idle, Level, Outcome, Run, Unit, UnitId, WorkerId
from headgate.policies.classes.frequencies import AT, EQUAL, Frequencies, inversion_setting
from headgate.policies.classes.inversion import MODULES
from headgate.policies.classes.ranking import priorities
from headgate.policies.contract import Policy, Reading, View
from headgate.policies.registry import register
from headgate.policies.settings import TRAIN, Setting
from headgate.policies.slowdown.hr import HighestRate
from headgate.policies.two_level import TwoLevel

RUNS = 10  # run overheads that even the smallest quota holds, where runs have one
LONGEST = 2.0  # seconds of a period that is derived from the run overhead


@dataclass(slots=True)
class Account:
    """The time of one class: its share of a period, what it may use now, and what it has used in its last turn.

    A turn is not cut short: what goes beyond the quota is deducted from the next one. Unused time is lost.

    >>> account = Account(share=6.0, quota=6.0)
    >>> account.used = 8.0
    >>> account.open(), account.quota
    (True, 4.0)
    >>> account.used = 15.0  # a long run: the debt is larger than a share
    >>> [account.open(), account.open()], account.quota
    ([False, True], 1.0)
    """

    share: float
    quota: float
    used: float = 0.0

    def open(self) -> bool:
        """A turn comes; whether the class may use it. A class in debt gains its share and is passed over."""
        self.settle()
        if self.quota > 0:
            return True
        self.quota += self.share
        return False

    def settle(self) -> None:
        """The quota after the last turn."""
        if self.used:
            self.quota = self.share - max(0.0, self.used - self.quota)
            self.used = 0.0

    def skip(self, rounds: int) -> None:
        """Let some turns pass, as far as the class cannot use them."""
        self.quota += min(rounds, self.debt) * self.share

    @property
    def left(self) -> float:
        return self.quota - self.used

    @property
    def debt(self) -> int:
        """How many turns it will be passed over."""
        return 0 if self.quota > 0 else int(-self.quota / self.share) + 1


@register("cqc")
class ContinuousQueryClasses(TwoLevel):
    """Classes take turns for a time by their priority; inside a class the highest output rate runs.

    With period k, class i has k·P_i/ΣP seconds a round. It is not interrupted; if its last run takes longer, the
    excess is deducted from its next turn. A turn ends early when nothing of the class waits. Important classes get
    more time, and the others can count on theirs; but everyone waits for all others' turns to end. Where sources are
    units, a class reads only when nothing else of it waits, so that a run finds longer queues. `inversion` changes the
    shares as the modules of `mbd` change frequencies.

    >>> from headgate.policies.checks import Situation
    >>> worth = {"H": 6.0, "C": 3.0, "N": 1.0}
    >>> of = {name: name for name in worth}
    >>> situation = Situation(dict.fromkeys(of, "select"), classes=of, priorities=worth)
    >>> policy = ContinuousQueryClasses(period=20.0)
    >>> policy.changed(situation.view(policy))
    >>> {name: round(account.share, 9) for name, account in policy.accounts.items()}
    {'H': 12.0, 'C': 6.0, 'N': 2.0}
    >>> situation.order(policy)
    ['H.select-0', 'C.select-1', 'N.select-2']
    """

    source = "Al Moakar 2013, section 4.1"
    rule = "next class in the cycle while its quota lasts, in it the highest S/C"
    needs = HighestRate.needs | {"class_priority", "run_overhead"}
    levels = (Level.OPERATOR, Level.QUERY)
    reading = Reading.OWN
    settings = (
        Setting(
            "period",
            0.001,
            "seconds that a round of all classes takes; where runs have an overhead, by default as long as gives the"
            " least class 10 overheads, at most 2 s",
            least=1e-9,
        ),
        inversion_setting("none"),
        AT,
        EQUAL,
    )

    period: float
    inversion: str
    at: str
    equal: bool

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.wants_answers = self.inversion != "none"
        self._frequencies = Frequencies(MODULES.get(self.inversion), self.at, self.equal)
        self._round = 0.0  # seconds of one
        self._passed = 0  # turns since classes were last judged
        self.accounts: dict[ClassId, Account] = {}
        self._class: ClassId | None = None  # whose turn it is
        self._awake: set[ClassId] = set()

    def part(self, unit: Unit) -> Hashable:
        return unit.payer, unit.level is Level.SOURCE

    def parts(self, view: View) -> list[Hashable]:
        return [(name, reading) for name in self.accounts for reading in (False, True)]

    def inner(self) -> Policy:
        shared = {setting.name for setting in TRAIN}
        return HighestRate(**{name: value for name, value in self.given.items() if name in shared})

    def changed(self, view: View) -> None:
        class_priorities = priorities(view)
        self._round = self._period(view, class_priorities)
        self._frequencies.follow(class_priorities)
        self._divide(class_priorities if self.inversion == "none" else self._frequencies.of)
        self._awake.clear()
        super().changed(view)

    def _divide(self, frequencies: Mapping[ClassId, float]) -> None:
        """Give every class its share of a round."""
        total, accounts = sum(frequencies.values()), {}
        for name, frequency in frequencies.items():
            share = self._round * frequency / total
            old = self.accounts.get(name)
            accounts[name] = Account(share, min(old.quota, share), old.used) if old else Account(share, share)
        self.accounts = accounts

    def ready(self, view: View, unit: Unit) -> None:
        super().ready(view, unit)
        self._awake.add(unit.payer)

    def finished(self, view: View, run: Run, outcome: Outcome) -> None:
        super().finished(view, run, outcome)
        self._frequencies.heard(run, outcome)
        account = self.accounts.get(run.units[0].payer)
        if account is not None:
            account.used += outcome.seconds

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        if self._class in self._awake and self.accounts[self._class].left > 0:
            choice = self._inside(view, self._class, worker)
            if isinstance(choice, Choice):
                return choice
        while self._awake:
            self._judge(view)
            self._class = self._next()
            choice = self._inside(view, self._class, worker)
            if isinstance(choice, Choice):
                return choice
        if not view.running:  # turns pass quickly while nothing waits, and with them the debts
            self.accounts = {name: Account(account.share, account.share) for name, account in self.accounts.items()}
        return IDLE

    def hear(self, query_class: ClassId, response_times: Iterable[float]) -> None:
        """Response times of a class, for `judge`; the core tells them with outcomes, run by run."""
        self._frequencies.responses.add(query_class, response_times)

    def _judge(self, view: View) -> None:
        """After as many turns as there are classes, let the module change their shares."""
        self._passed += 1
        if self.inversion != "none" and self._passed > len(self.accounts):
            self._passed = 0
            self.judge(view)

    def judge(self, view: View) -> bool:
        """Let the module act on inversions; whether classes have other shares."""
        changed = self._frequencies.judge()
        if changed:
            self.updates.append(view.now)
            self._divide(self._frequencies.of)
        return changed

    def title(self, part: Hashable) -> str:
        name = part[0] if isinstance(part, tuple) else part
        return f"class {name}"

    def following(self, view: View, waiting: Collection[Hashable], chosen: Collection[UnitId]) -> Hashable | None:
        """The class whose turn it is, while its quota lasts; then the next one that is not in debt."""
        names = list(self.accounts)
        start = names.index(self._class) + 1 if self._class in self.accounts else 0
        order = [*names[start:], *names[:start]]
        classes = {part[0] for part in waiting if isinstance(part, tuple)}
        if self._class is not None and self._class in classes and self.accounts[self._class].left > 0:
            name: ClassId | None = self._class
        else:
            name = min(
                (name for name in order if name in classes), key=lambda name: self.accounts[name].debt, default=None
            )
        return next(((name, reading) for reading in (False, True) if (name, reading) in waiting), None)

    def _inside(self, view: View, name: ClassId, worker: WorkerId) -> Choice | Idle:
        for reading in (False, True):
            choice = self._ask(view, (name, reading), worker)
            if isinstance(choice, Choice):
                return choice
        self._awake.discard(name)
        return IDLE

    def _next(self) -> ClassId:
        """The next class with something to do and time to do it; turns of the others pass."""
        self._skip_rounds()
        names = list(self.accounts)
        start = names.index(self._class) + 1 if self._class in self.accounts else 0
        while True:
            for name in names[start:]:
                account = self.accounts[name]
                if account.open():
                    if name in self._awake:
                        return name
                    account.quota = account.share  # nothing used: the quota is whole again
            start = 0

    def _skip_rounds(self) -> None:
        """Pass over the rounds in which everybody with something to do is in debt, all at once."""
        for account in self.accounts.values():
            account.settle()
        rounds = min(self.accounts[name].debt for name in self._awake)
        for account in self.accounts.values():
            account.skip(rounds)

    def _period(self, view: View, class_priorities: dict[ClassId, float]) -> float:
        overhead = max((view.stats.run_overhead(unit) for unit in view.units.values()), default=0.0)
        if "period" in self.given or not overhead:
            return self.period
        return min(LONGEST, RUNS * overhead * sum(class_priorities.values()) / min(class_priorities.values()))
