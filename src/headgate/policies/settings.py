"""Settings that policies declare, and those that all of them have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.model import HeadgateError, Level, Train, Value
from headgate.model.isolation import AUTO, Isolation


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a policy: its name, default, meaning, and what it may be.

    >>> Setting("clusters", 0, "how many clusters", least=0).read(12)
    12
    >>> Setting("clustering", "log", "how they are cut", choices=("log", "uniform")).read("linear")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: clustering must be log or uniform, found linear
    """

    name: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    def read(self, value: Value) -> Value:
        if self.choices:
            if str(value) not in self.choices:
                raise HeadgateError(f"{self.name} must be {' or '.join(self.choices)}, found {value}")
            return str(value)
        if isinstance(self.default, bool):
            if not isinstance(value, bool):
                raise HeadgateError(f"{self.name} must be true or false, found {value}")
            return value
        if self.least is not None or self.most is not None:
            self._check_range(value)
        return value

    def _check_range(self, value: Value) -> None:
        low = float("-inf") if self.least is None else self.least
        high = float("inf") if self.most is None else self.most
        number = isinstance(value, int | float) and not isinstance(value, bool)
        whole = not isinstance(self.default, int) or isinstance(value, int)
        if not (number and whole and low <= float(value) <= high):  # type: ignore[arg-type]
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            bound = f"from {low:g} to {high:g}" if high != float("inf") else f"of at least {low:g}"
            raise HeadgateError(f"{self.name} must be {kind} {bound}, found {value}")


TRAIN = (
    Setting("train", "default", "tuples a run takes: all, a number, or a share of the queue as 0.3"),
    Setting("ratio", 1.0, "with threshold: the share of the queue a run takes", least=0.0, most=1.0),
    Setting("threshold", 0, "with ratio: a share not above it means the whole queue", least=0),
    Setting("schedule", 1, "how many units one decision lists, run before the next decision", least=1),
)


ISOLATION = (
    Setting("slice", "off", "how long a run of a lower class may take: off, auto, or a time as 200ms"),
    Setting("preempt", "off", "whether a run gives way to a more important class", choices=("off", "class")),
    Setting("keep", 0, "workers that are kept for the highest class: a number, or auto"),
)


def read_isolation(values: Mapping[str, Any]) -> Isolation:
    """What the settings say about keeping classes apart.

    >>> read_isolation({"slice": 0.2, "preempt": "class", "keep": "auto"})
    Isolation(slice=0.2, preempt=True, keep='auto')
    """
    run_slice, keep = values["slice"], values["keep"]
    if run_slice not in ("off", AUTO) and not (_is_number(run_slice) and 0 < run_slice < float("inf")):
        raise HeadgateError(f"slice must be off, auto, or a time such as 200ms, found {run_slice}")
    if keep != AUTO and not (_is_number(keep) and isinstance(keep, int) and keep >= 0):
        raise HeadgateError(f"keep must be auto or a number of workers, found {keep}")
    return Isolation(None if run_slice == "off" else run_slice, values["preempt"] == "class", keep)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def level_setting(levels: tuple[Level, ...]) -> Setting:
    """The setting that chooses among the levels a policy makes sense at; the first is the default."""
    return Setting("level", levels[0].value, "what is scheduled", choices=tuple(level.value for level in levels))


def read_train(values: Mapping[str, Any]) -> Train | None:
    """The train that the settings describe; None: the driver's default.

    >>> read_train({"train": 0.5, "ratio": 1.0, "threshold": 0})
    Train(at_most=None, fraction=0.5, threshold=0, fits=None)
    """
    train, ratio = values["train"], values["ratio"]
    threshold = values.get("threshold", 0)  # a policy may use the name for something of its own
    if threshold and ratio == 1.0:
        raise HeadgateError("threshold goes with a ratio below 1", hint="write ratio=0.3, threshold=50")
    if ratio < 1.0 and train != "default":
        raise HeadgateError("train and ratio are both given", hint="keep one of them")
    if ratio < 1.0:
        return Train(fraction=ratio, threshold=threshold)
    if train == "default":
        return None
    if train == "all":
        return Train()
    if isinstance(train, int) and not isinstance(train, bool) and train >= 1:
        return Train(at_most=train)
    if isinstance(train, float) and 0 < train <= 1:
        return Train(fraction=train)
    raise HeadgateError(f"train must be all, a number of tuples, or a share such as 0.3, found {train}")
