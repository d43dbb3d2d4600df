"""What an experiment is: a published result, the runs that measure it, and how both are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headgate.metrics import Measure, Records
from headgate.metrics.pictures.curves import Curve
from headgate.reproduction.comparisons import Comparison
from headgate.reproduction.measurements import Key, Measurements
from headgate.workload import Workload

Values = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run: simulated seconds (None: as the workload's file says), and how many seeds, from 1 on."""

    seconds: float | None = None
    seeds: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """A simulation that an experiment asks for; a run of it for each seed. Equal ones of several experiments run once.

    Every measure of the run and of its classes is kept, by the dotted path that `headgate compare --by` knows.
    """

    workload: str | Callable[[], Workload]  # a file of workloads/ without .toml, or what makes one
    policy: str
    settings: Mapping[str, float] = field(
        default_factory=dict
    )  # load, rate, cores: as `headgate sweep --vary` sets them
    change: Callable[[Workload], Workload] | None = None  # anything else that is different, before the settings
    per_seed: Callable[[Workload, int], Workload] | None = None  # what each seed draws itself, its duration being set
    measure: Callable[[Records], Values] | None = None  # further numbers of a run
    bin: float = 0.1  # seconds, of measures over time
    in_quick: bool = True  # whether it is part of a quick reproduction


@dataclass(frozen=True, slots=True, kw_only=True)
class Calculation:
    """Numbers that no simulation gives: a function of the size and a seed, run as a task too."""

    function: Callable[[Size, int], Values]
    in_quick: bool = True


Run = Simulation | Calculation


@dataclass(frozen=True, slots=True)
class Picture:
    """What to draw: curves by name, along a setting or over names, in the look of a sweep's pictures."""

    curves: Mapping[str, Curve]
    setting: str  # in words, with its unit
    measure: str | Measure  # a dotted path, or one in words
    decades: bool = True  # go by decades if the values spread over them


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One published result. Lives in `experiments/<document>/<any name>.py` as `EXPERIMENT`."""

    document: str  # the folder
    id: str  # as in the document: F5, 4.12
    claim: str  # what the document says, in our words
    source: str  # where: figure 5, section 9.1.1
    runs: Mapping[Key, Run] | Callable[[], Mapping[Key, Run]]  # a function, if it takes time to say which
    compare: Callable[[Measurements], Iterable[Comparison]]
    quick: Size
    full: Size
    paragraph: str = ""  # if it is not fully reproduced: why, what was tried, what the document leaves open
    sensitive: str = ""  # which of the things that were chosen or calibrated it depends on
    picture: Callable[[Measurements], Picture] | None = None

    def size(self, full: bool) -> Size:
        return self.full if full else self.quick

    def runs_of(self, full: bool) -> dict[Key, Run]:
        """The runs of a full or of a quick reproduction."""
        runs = self.runs() if callable(self.runs) else self.runs
        return {key: run for key, run in runs.items() if full or run.in_quick}


@dataclass(frozen=True, slots=True)
class Document:
    """A document, as `DOCUMENT` in `experiments/<document>/__init__.py`."""

    name: str  # the folder
    title: str
    chosen: str = ""  # what it leaves open, what was chosen, and on which published figure it was calibrated


def grid(
    workload: str | Callable[[], Workload],
    policies: Sequence[str] | Mapping[str, str],
    setting: str,
    values: Iterable[float],
    *,
    quick: Iterable[float] | None = None,
    **further: Any,
) -> dict[Key, Run]:
    """Every policy at every value of a setting, by (policy, value); `quick` names the values of a quick reproduction.

    Policies may be given by a name of their own: `{"BSD": "bsd, clusters=12"}`.

    >>> runs = grid("sharaf", ["hr", "hnr"], "load", [0.7, 0.97], quick=[0.97])
    >>> list(runs)
    [('hr', 0.7), ('hr', 0.97), ('hnr', 0.7), ('hnr', 0.97)]
    >>> runs["hr", 0.7].in_quick, runs["hr", 0.97].settings
    (False, {'load': 0.97})
    """
    named = policies if isinstance(policies, Mapping) else {policy: policy for policy in policies}
    places = list(values)
    among_quick = set(places if quick is None else quick)
    return {
        (name, value): Simulation(
            workload=workload,
            policy=policy,
            settings={**further.get("settings", {}), setting: value},
            in_quick=value in among_quick,
            **{key: value for key, value in further.items() if key != "settings"},
        )
        for name, policy in named.items()
        for value in places
    }
