"""Random cases: streams, queries, and steps of data and commands in between."""

from __future__ import annotations

from random import Random

from tests.spark.fuzz import data, features
from tests.spark.fuzz.case import Case, QueryDef, Step, StreamDef
from tests.spark.fuzz.grammar import KINDS, OFTEN, Grammar, replacement
from tests.spark.fuzz.small import draw_small

from headgate.policies.registry import create, policies

CLASSES = ("high", "low")
FINE = ("operator", "segment")  # levels at which queries are in pieces
LEVELS = ("query", "path", "operator", "segment")
FUSES = ("class", "all", "off")


def draw_case(seed: int, number: int, chosen: frozenset[str], *, kill: bool = False) -> Case:
    """The case of a seed and a number; the same whenever it is drawn with the same features."""
    random = Random(f"{seed} {number}")
    if "pause in pieces" not in chosen and random.random() < 0.4:
        chosen -= {"pieces"}  # so that some cases have pauses
    streams = [data.draw_stream(random, name) for name in ("a", "b", "c")[: random.randint(2, 3)]]
    failing = frozenset(name.removeprefix("failing ") for name in features.FAILING if name in chosen)
    grammar = Grammar(random, streams, failing if random.random() < 0.5 else frozenset())
    qos = "without qos" not in chosen or random.random() < 0.7
    small = draw_small(random, "executors" in chosen)
    policies_of_case = _policies(chosen, qos)
    queries = [_query(random, grammar, f"q{n}", chosen, kill) for n in range(random.randint(4, 8))]
    steps = _Steps(random, streams, queries, chosen, policies_of_case).draw(random.randint(10, 20))
    if kill:
        steps.insert(random.randint(len(steps) // 3, len(steps)), ["kill", random.choice((0, 20, 100, 300, 700))])
    return Case(
        seed,
        number,
        streams,
        queries,
        steps,
        policy=random.choice(policies_of_case),
        fuse=random.choice(FUSES),
        workers=random.randint(1, 3),
        qos=qos,
        small=small,
    )


def _query(random: Random, grammar: Grammar, name: str, chosen: frozenset[str], kill: bool) -> QueryDef:
    kind = random.choice((*KINDS, *OFTEN))
    tree = KINDS[kind](grammar)
    sinks = ["parquet"] * 4 + [each for each in features.SINKS if each in chosen]
    if "failing sink" in chosen:
        sinks.append("failing")
    if kill:  # what others hold is gone with the process
        sinks = [each for each in sinks if each in ("parquet", "jsonl")]
    return QueryDef(name, tree, replacement(random, tree), random.choice(CLASSES), random.choice(sinks))


def _policies(chosen: frozenset[str], qos: bool) -> list[str]:
    """Every policy at every level that it offers, some with trains; the names that are allowed."""
    found = []
    for name, policy in policies().items():
        if "qos" in getattr(policy, "needs", ()) and not qos:
            continue
        for level in _levels(name):
            if level in FINE and not chosen >= {"pieces"}:
                continue
            found += [f"{name}, level={level}"] * 3 + [f"{name}, level={level}, train={size}" for size in ("0.5", "15")]
            if "slice" not in {setting.name for setting in policy.settings}:
                found.append(f"{name}, level={level}, slice=auto, preempt=class")
    return found


def _levels(name: str) -> list[str]:
    return [level for level in LEVELS if _offers(name, level)]


def _offers(name: str, level: str) -> bool:
    from headgate.model import HeadgateError

    try:
        create(f"{name}, level={level}")
    except HeadgateError:
        return False
    return True


class _Steps:
    """Draws steps one after another."""

    def __init__(
        self,
        random: Random,
        streams: list[StreamDef],
        queries: list[QueryDef],
        chosen: frozenset[str],
        allowed: list[str],
    ) -> None:
        self.random, self.streams, self.queries, self.chosen, self.allowed = random, streams, queries, chosen, allowed
        base = data.moment(random.choice(list(data.MOMENTS)))
        self.clocks = {stream.name: base for stream in streams}
        self.finished: set[str] = set()
        whole = all(f"level={level}" not in text for text in allowed for level in FINE)
        self.pausing = "pause" in chosen and (whole or "pause in pieces" in chosen)

    def draw(self, count: int) -> list[Step]:
        steps = [step for _ in range(count) if (step := self._step()) is not None]
        if "start later" in self.chosen and self.random.random() < 0.5:
            for query in self.random.sample(self.queries, 2):
                since = self.random.choice(("now", "now", "start", "once"))
                steps.insert(self.random.randint(1, len(steps)), ["start", query.name, since])
        return steps

    def _step(self) -> Step | None:
        if self.random.random() < 0.6:
            return self._append()
        kinds = {
            "drain": True,
            "status": True,
            "sleep": True,
            "pause": self.pausing,
            "resume": self.pausing,
            "replace": "replace" in self.chosen,
            "move": "move" in self.chosen,
            "stop": "stop" in self.chosen and self.random.random() < 0.3,
            "policy": "policy" in self.chosen,
            "priority": True,
            "finish": "finish early" in self.chosen and self.random.random() < 0.2,
            "restart": "restart" in self.chosen and self.random.random() < 0.5,
        }
        return self._command(self.random.choice([kind for kind, allowed in kinds.items() if allowed]))

    def _append(self) -> Step | None:
        open_ = [each for each in self.streams if "late rows" in self.chosen or each.name not in self.finished]
        if not open_:
            return None
        stream = self.random.choice(open_)
        count = self.random.choice((0, 1, 2, 5, 9, 14))
        late = "late rows" in self.chosen
        rows, self.clocks[stream.name] = data.draw_rows(
            self.random, stream, self.clocks[stream.name], count, late, "null elements" in self.chosen
        )
        if self.random.random() < 0.2:
            self.clocks[stream.name] += self.random.choice((3, 20)) * data.SECOND
        dicts = "rows as dicts" in self.chosen and self.random.random() < 0.3
        return ["append", stream.name, rows, "dicts" if dicts else "table"]

    def _command(self, kind: str) -> Step:
        random, name = self.random, self.random.choice(self.queries).name
        match kind:
            case "sleep":
                return [kind, random.choice((5, 50, 200))]
            case "pause" | "resume" | "stop" | "replace":
                return [kind, name]
            case "move":
                return [kind, name, random.choice(CLASSES)]
            case "policy":
                return [kind, random.choice(self.allowed), random.choice((None, None, *FUSES))]
            case "priority":
                return [kind, random.choice(CLASSES), random.choice((0.5, 1, 7, 100))]
            case "finish":
                stream = random.choice(self.streams).name
                self.finished.add(stream)
                return [kind, stream]
            case "restart":
                return [kind, random.choice(self.allowed), random.choice(FUSES), random.randint(1, 3)]
        return [kind]
