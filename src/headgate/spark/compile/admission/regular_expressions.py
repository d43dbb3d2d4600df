r"""Finds regular expressions that can take exponential time.

Java matches by trying one way after another. If a repetition can match the same text in several ways, as `(a+)+` can,
the number of ways doubles with each character of a text that does not match in the end. Such a repetition is found in
the automaton of the pattern, whose states are the pattern's characters: some state comes back to itself by two paths
that read the same text. There are two cases: a step on a cycle that exists for two reasons (in `(a+)+` from a to a, by
the inner and by the outer +), or two different walks on the same text that start and end at the same state.

>>> [explosive(pattern) for pattern in ("(a+)+", r"(\w+\s*)*x", "(a|a)*", "(a|ab)*c", "(.*,)*")]
[True, True, True, False, True]
>>> [explosive(pattern) for pattern in (r"(\d+,)*\d+", "^h.l+$", "(ab|cd)*", "[a-z]+@[a-z]+", "(a++b)*")]
[False, False, False, False, False]
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

_State = TypeVar("_State", bound=Hashable)

_ALL = (1 << 129) - 1  # the characters of ASCII, and one for all others
_MOST_STEPS = 100_000  # a pattern that needs more to be checked is taken for an explosive one
_MANY = 20  # {1,20} counts as an unbounded repetition
_CLASSES = {"d": r"[0-9]", "w": r"\w", "s": r"\s", "h": r"[ \t]", "v": r"[\n\r\f]"}
_QUANTIFIER = re.compile(r"([*+?]|\{\d*(?:,\d*)?\})([?+]?)")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|\[[^\]]*\]|[^\]\\])*\]")
_GROUP = re.compile(r"\(\?(?:<[a-zA-Z]\w*>|[a-zA-Z]*-?[a-zA-Z]*:|[=!>]|<[=!])")


@lru_cache(maxsize=1000)
def explosive(pattern: str) -> bool:
    """Whether a pattern can take exponential time on some text."""
    automaton = _Reader(pattern).automaton()
    return automaton.doubled() or automaton.parts_and_meets()


@dataclass(slots=True)
class _Part:
    """A part of a pattern: whether it may match nothing, and the states that it begins and ends with."""

    empty: bool
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Automaton:
    """For each state the characters that it reads, as bits, and for each step between states the number of reasons."""

    reads: list[int] = field(default_factory=list)
    steps: Counter[tuple[int, int]] = field(default_factory=Counter)

    def state(self, reads: int) -> _Part:
        self.reads.append(reads)
        return _Part(False, [len(self.reads) - 1], [len(self.reads) - 1])

    def link(self, ends: list[int], begins: list[int]) -> None:
        self.steps.update((end, begin) for end in ends for begin in begins)

    def doubled(self) -> bool:
        """Whether a step within a cycle has two reasons."""
        twice = [step for step, count in self.steps.items() if count > 1]
        return bool(twice) and any(group.issuperset(step) for group in _cycles(self._after()) for step in twice)

    def parts_and_meets(self) -> bool:
        """Whether two different walks on the same text lead from a state back to it."""
        after = self._after()
        pairs: dict[tuple[int, int], set[tuple[int, int]]] = {}
        ahead = [(state, state) for state in range(len(self.reads))]
        steps = 0
        while ahead:
            pair = ahead.pop()
            if pair in pairs:
                continue
            pairs[pair] = {
                (left, right)
                for left in after.get(pair[0], ())
                for right in after.get(pair[1], ())
                if self.reads[left] & self.reads[right]
            }
            steps += len(pairs[pair])
            if steps > _MOST_STEPS:
                return True
            ahead.extend(pairs[pair])
        return any(len({left == right for left, right in group}) > 1 for group in _cycles(pairs))

    def _after(self) -> dict[int, set[int]]:
        after: dict[int, set[int]] = {}
        for state, following in self.steps:
            after.setdefault(state, set()).add(following)
        return after


class _Reader:
    """Reads a pattern into an automaton. What it does not know (look-around, back references) counts as empty."""

    def __init__(self, pattern: str) -> None:
        self.rest = pattern
        self.fold = bool(re.search(r"\(\?[a-zA-Z]*i", pattern))
        self.built = _Automaton()

    def automaton(self) -> _Automaton:
        while self.rest:
            self._choice()
            self.rest = self.rest[1:]  # a parenthesis that nothing opened: Java will say so
        return self.built

    def _choice(self) -> _Part:
        choice = self._sequence()
        while self._take("|"):
            other = self._sequence()
            choice = _Part(choice.empty or other.empty, choice.first + other.first, choice.last + other.last)
        return choice

    def _sequence(self) -> _Part:
        sequence = _Part(True)
        while self.rest and self.rest[0] not in "|)":
            part = self._repeated(self._atom())
            self.built.link(sequence.last, part.first)
            first = sequence.first + part.first if sequence.empty else sequence.first
            last = sequence.last + part.last if part.empty else part.last
            sequence = _Part(sequence.empty and part.empty, first, last)
        return sequence

    def _repeated(self, part: _Part) -> _Part:
        while match := _QUANTIFIER.match(self.rest):
            self.rest = self.rest[match.end() :]
            low, high = _times(match[1])
            if match[2] == "+":  # possessive: matches in one way
                part = self._once(part)
            elif high is None or high >= _MANY:
                self.built.link(part.last, part.first)
            part = _Part(part.empty or low == 0, part.first, part.last)
        return part

    def _once(self, part: _Part) -> _Part:
        """One state in place of a part that matches in one way only."""
        inside = set(range(min(part.first, default=0), len(self.built.reads)))
        for step in [step for step in self.built.steps if inside.issuperset(step)]:
            del self.built.steps[step]
        reads = 0
        for state in inside:
            reads |= self.built.reads[state]
        return self.built.state(reads) if inside else part

    def _atom(self) -> _Part:
        if group := _GROUP.match(self.rest):
            self.rest = self.rest[group.end() :]
            return self._group(group[0])
        if self._take("("):
            return self._group("(")
        if char_class := _CLASS.match(self.rest):
            self.rest = self.rest[char_class.end() :]
            return self._state(char_class[0])
        if self.rest[0] == "\\":
            return self._escape()
        char, self.rest = self.rest[0], self.rest[1:]
        if char in "^$":
            return _Part(True)
        return self._state(char if char == "." else re.escape(char))

    def _group(self, opened: str) -> _Part:
        inner = self._choice()
        self._take(")")
        if opened in ("(?=", "(?!", "(?<=", "(?<!"):
            return _Part(True)
        return self._once(inner) if opened == "(?>" else inner

    def _escape(self) -> _Part:
        char, self.rest = self.rest[1:2], self.rest[2:]
        if char in ("p", "P", "x", "u", "k"):  # \p{Alpha}, \x41, \u0041, \k<name>: any character will do
            self.rest = re.sub(r"^(\{[^}]*\}|<\w+>|[0-9a-fA-F]{2,4}|\w)", "", self.rest)
            return self.built.state(_ALL)
        if char == "Q":
            quoted, _, self.rest = self.rest.partition("\\E")
            self.rest = re.escape(quoted) + self.rest
            return _Part(True)
        if char in "bBAzZG" or char.isdigit():
            return _Part(True)
        if char.lower() in _CLASSES:
            reads = _reads(_CLASSES[char.lower()], False)
            return self.built.state(reads if char.islower() else _ALL & ~reads)
        return self._state(re.escape(char))

    def _state(self, text: str) -> _Part:
        return self.built.state(_reads(text, self.fold))

    def _take(self, char: str) -> bool:
        starts = self.rest.startswith(char)
        self.rest = self.rest[len(char) :] if starts else self.rest
        return starts


def _times(quantifier: str) -> tuple[int, int | None]:
    if quantifier in "*+?":
        return int(quantifier == "+"), 1 if quantifier == "?" else None
    low, comma, high = quantifier.strip("{}").partition(",")
    least = int(low or 0)
    return least, (int(high) if high else None) if comma else least


@lru_cache(maxsize=1000)
def _reads(text: str, fold: bool) -> int:
    """The characters that one element of a pattern reads, as bits; all, if Python does not understand it."""
    try:
        with warnings.catch_warnings(action="ignore"):
            element = re.compile(text, re.IGNORECASE if fold else 0)
    except re.error:
        return _ALL
    ascii_bits = sum(1 << code for code in range(128) if element.fullmatch(chr(code)))
    return ascii_bits | (bool(element.fullmatch("é")) << 128)


def _cycles(after: Mapping[_State, set[_State]]) -> Iterator[set[_State]]:
    """The strongly connected components that have a cycle, by Kosaraju's algorithm."""
    before: dict[_State, set[_State]] = {}
    for state, nexts in after.items():
        for following in nexts:
            before.setdefault(following, set()).add(state)
    seen: set[_State] = set()
    order = [state for start in after for state in _finished(after, start, seen)]
    seen = set()
    for start in reversed(order):
        group = set(_finished(before, start, seen))
        if len(group) > 1 or start in after.get(start, ()):
            yield group


def _finished(after: Mapping[_State, set[_State]], start: _State, seen: set[_State]) -> list[_State]:
    """The states not yet seen that a state reaches, in the order in which a depth-first search leaves them."""
    if start in seen:
        return []
    seen.add(start)
    done, ahead = [], [(start, iter(after.get(start, ())))]
    while ahead:
        state, nexts = ahead[-1]
        following = next((candidate for candidate in nexts if candidate not in seen), None)
        if following is None:
            done.append(state)
            ahead.pop()
        else:
            seen.add(following)
            ahead.append((following, iter(after.get(following, ()))))
    return done
