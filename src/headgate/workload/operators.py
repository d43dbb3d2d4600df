"""From a query's operator strings to its plan: which operator feeds which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from headgate.model import HeadgateError, Kind, Operator, Source, unknown
from headgate.workload.kinds import RULES, check_settings, kind_of, make
from headgate.workload.settings import Settings

At = Callable[[int], AbstractContextManager[None]]  # marks errors with the place of an operator
Input = int | str  # an operator's position, or a stream


@dataclass(frozen=True, slots=True)
class WrittenOperator:
    """One operator string."""

    kind: Kind
    settings: Settings
    label: str | None
    name: str | None
    sources: tuple[str, ...] | None  # None: the operator before it

    @classmethod
    def of(cls, text: str) -> WrittenOperator:
        settings = Settings(text)
        kind = kind_of(settings.name)
        check_settings(kind, settings)
        sources = tuple(settings.words("from")) if "from" in settings else None
        return cls(kind, settings, settings.named("as"), settings.named("name"), sources)

    @property
    def calls(self) -> tuple[str, ...]:
        """What other operators of the query may call it."""
        return tuple(dict.fromkeys(filter(None, (self.label, self.name))))


@dataclass(frozen=True, slots=True)
class OperatorHandle:
    """How a change refers to an operator: its name, or its number in the plan, inputs first."""

    operator: str | int
    kind: Kind
    patterned: bool = False  # passes tuples by a fixed pattern


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """A query's plan; its operators in the order written, and what each may be called."""

    root: Operator
    written: tuple[Operator, ...] = ()
    handles: Mapping[str | int, OperatorHandle] = field(default_factory=dict)


def plan(query: str, texts: Sequence[str], reads: Sequence[str], streams: Collection[str], at: At) -> WrittenPlan:
    """The plan that operator strings describe; `reads` are the query's streams, none: it may name any.

    >>> from contextlib import nullcontext
    >>> texts = ["select, from=s, as=hot", "select, from=t, as=wet", "join, from=[hot, wet], window=5s"]
    >>> from headgate.plan.tree import render
    >>> print(render(plan("q", texts, ["s", "t"], ["s", "t"], lambda place: nullcontext()).root))
    join within [-5 s, 5 s]
    ├─ select
    │  └─ stream s
    └─ select
       └─ stream t
    """
    writtens = list(_read_each(texts, at, WrittenOperator.of))
    labels = _labels(writtens, streams, at)
    feeds = [_feeds(place, written, reads, labels, streams, at) for place, written in enumerate(writtens)]
    root, order = _root(feeds, at), _order(feeds, at)
    names = _names(query, writtens, feeds)
    built: dict[Input, Operator | Source] = {}
    operators: dict[int, Operator] = {}
    for place in order:
        inputs = tuple(built.get(feed) or Source(str(feed)) for feed in feeds[place])
        with at(place):
            operator = make(writtens[place].kind, writtens[place].settings, inputs, names.get(place))
        built[place] = operators[place] = operator
    written = tuple(operators[place] for place in range(len(writtens)))
    return WrittenPlan(operators[root], written, _handles(writtens, names, list(_inputs_first(root, feeds, set()))))


def _read_each(texts: Sequence[str], at: At, read: Callable[[str], WrittenOperator]) -> Iterator[WrittenOperator]:
    for place, text in enumerate(texts):
        with at(place):
            yield read(text)


def _labels(writtens: Sequence[WrittenOperator], streams: Collection[str], at: At) -> dict[str, int]:
    labels: dict[str, int] = {}
    for place, written in enumerate(writtens):
        for label in written.calls:
            with at(place):
                if label in labels or label in streams:
                    what = f"operators[{labels[label]}]" if label in labels else "a stream"
                    raise HeadgateError(f"'{label}' is already the name of {what}", hint="choose another name")
            labels[label] = place
    return labels


def _feeds(
    place: int,
    written: WrittenOperator,
    reads: Sequence[str],
    labels: Mapping[str, int],
    streams: Collection[str],
    at: At,
) -> tuple[Input, ...]:
    """What an operator takes its tuples from."""
    with at(place):
        if written.sources is not None:
            feeds: tuple[Input, ...] = tuple(_feed(source, reads, labels, streams) for source in written.sources)
        else:
            feeds = (place - 1,) if place else tuple(reads)
        _check_inputs(written, feeds)
    return feeds


def _feed(source: str, reads: Sequence[str], labels: Mapping[str, int], streams: Collection[str]) -> Input:
    if source in labels:
        return labels[source]
    if source not in streams:
        raise unknown("stream or operator", source, [*labels, *streams])
    if reads and source not in reads:
        raise HeadgateError(f"stream '{source}' is not in the query's from", hint="add it there")
    return source


def _check_inputs(written: WrittenOperator, feeds: tuple[Input, ...]) -> None:
    rule = RULES[written.kind]
    if rule.fewest <= len(feeds) <= rule.most:
        return
    single_hint = "say which one with from=…" if len(feeds) else "give the query a from, or the operator"
    hint = single_hint if rule.most == 1 else f"name {'two' if rule.most == 2 else 'them'} with from=[…, …]"
    raise HeadgateError(f"{written.kind} takes {rule.inputs}, found {len(feeds)}", hint=hint)


def _order(feeds: Sequence[tuple[Input, ...]], at: At) -> list[int]:
    """Operators after those that feed them."""
    graph = {place: [feed for feed in inputs if isinstance(feed, int)] for place, inputs in enumerate(feeds)}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        cycle = sorted(set(error.args[1]))
        cycle_text = ", ".join(f"operators[{place}]" for place in cycle)
        with at(cycle[0]):
            raise HeadgateError(f"{cycle_text} feed each other in a circle", hint="correct their from") from None
        raise AssertionError("the place marks every error") from None


def _root(feeds: Sequence[tuple[Input, ...]], at: At) -> int:
    used = {feed for inputs in feeds for feed in inputs}
    unused = [place for place in range(len(feeds)) if place not in used]
    if len(unused) > 1:
        with at(unused[0]):
            hint = "give it as=…, and name it in the from of another operator, or remove it"
            raise HeadgateError("nobody uses what this operator makes", hint=hint)
    return unused[-1] if unused else 0


def _names(query: str, writtens: Sequence[WrittenOperator], feeds: Sequence[tuple[Input, ...]]) -> dict[int, str]:
    """Names as written; what a query uses twice, and all before it, needs a name to stay one operator."""
    uses = Counter(feed for inputs in feeds for feed in inputs if isinstance(feed, int))
    names = {place: written.name for place, written in enumerate(writtens) if written.name}
    below: set[int] = set()
    for place, times in uses.items():
        if times > 1:
            list(_inputs_first(place, feeds, below))
    for place in below:
        written = writtens[place]
        names.setdefault(place, f"{query}.{written.label or f'{written.kind}-{place}'}")
    return names


def _inputs_first(place: int, feeds: Sequence[tuple[Input, ...]], seen: set[int]) -> Iterator[int]:
    """Operators under a place and itself, each once: the order in which a network numbers them."""
    if place in seen:
        return
    seen.add(place)
    for feed in feeds[place]:
        if isinstance(feed, int):
            yield from _inputs_first(feed, feeds, seen)
    yield place


def _handles(
    writtens: Sequence[WrittenOperator], names: Mapping[int, str], order: Sequence[int]
) -> dict[str | int, OperatorHandle]:
    handles: dict[str | int, OperatorHandle] = {}
    for place, written in enumerate(writtens):
        handle = OperatorHandle(names.get(place) or order.index(place), written.kind, "pass" in written.settings)
        handles[place] = handle
        handles.update(dict.fromkeys(written.calls, handle))
    return handles
