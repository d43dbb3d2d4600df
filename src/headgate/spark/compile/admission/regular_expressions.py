r"""Regular expressions that take time without end.

Java matches by trying one way after another. If a repetition can match the same text in several ways, as `(a+)+` can,
the ways double with each character of a text that does not match in the end. Such a repetition is found in the
automaton of the pattern, whose states are its characters: some state comes back to itself by two paths that read the
same text. Two paths are either two reasons for the same step, or a walk of two states at once that parts and meets.

>>> [explosive(one) for one in ("(a+)+", r"(\w+\s*)*x", "(a|a)*", "(a|ab)*c", "(.*,)*")]
[True, True, True, False, True]
>>> [explosive(one) for one in (r"(\d+,)*\d+", "^h.l+$", "(ab|cd)*", "[a-z]+@[a-z]+", "(a++b)*")]
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
_MOST_STEPS = 100_000  # beyond that a pattern is taken for one that explodes
_MANY = 20  # {1,20} counts as a repetition without end
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
class _Piece:
    """A part of a pattern: whether it may match nothing, and the states that it begins and ends with."""

    empty: bool
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Automaton:
    """For each state the characters that it reads, and the steps from state to state with the number of reasons."""

    reads: list[int] = field(default_factory=list)
    steps: Counter[tuple[int, int]] = field(default_factory=Counter)

    def state(self, reads: int) -> _Piece:
        self.reads.append(reads)
        return _Piece(False, [len(self.reads) - 1], [len(self.reads) - 1])

    def link(self, ends: list[int], begins: list[int]) -> None:
        self.steps.update((end, begin) for end in ends for begin in begins)

    def doubled(self) -> bool:
        """Whether a step within a cycle has two reasons."""
        twice = [step for step, count in self.steps.items() if count > 1]
        return bool(twice) and any(group.issuperset(step) for group in _cycles(self._after()) for step in twice)

    def parts_and_meets(self) -> bool:
        """Whether two walks on the same text part and meet again where they began."""
        after = self._after()
        pairs: dict[tuple[int, int], set[tuple[int, int]]] = {}
        ahead = [(state, state) for state in range(len(self.reads))]
        steps = 0
        while ahead:
            pair = ahead.pop()
            if pair in pairs:
                continue
            pairs[pair] = {
                (one, other)
                for one in after.get(pair[0], ())
                for other in after.get(pair[1], ())
                if self.reads[one] & self.reads[other]
            }
            steps += len(pairs[pair])
            if steps > _MOST_STEPS:
                return True
            ahead.extend(pairs[pair])
        return any(len({one == other for one, other in group}) > 1 for group in _cycles(pairs))

    def _after(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for one, other in self.steps:
            found.setdefault(one, set()).add(other)
        return found


class _Reader:
    """Reads a pattern into an automaton. What it does not know (a look around, a back reference) matches nothing."""

    def __init__(self, pattern: str) -> None:
        self.rest = pattern
        self.fold = bool(re.search(r"\(\?[a-zA-Z]*i", pattern))
        self.made = _Automaton()

    def automaton(self) -> _Automaton:
        while self.rest:
            self._choice()
            self.rest = self.rest[1:]  # a parenthesis that nothing opened: Java will say so
        return self.made

    def _choice(self) -> _Piece:
        found = self._sequence()
        while self._take("|"):
            other = self._sequence()
            found = _Piece(found.empty or other.empty, found.first + other.first, found.last + other.last)
        return found

    def _sequence(self) -> _Piece:
        found = _Piece(True)
        while self.rest and self.rest[0] not in "|)":
            fragment = self._repeated(self._atom())
            self.made.link(found.last, fragment.first)
            first = found.first + fragment.first if found.empty else found.first
            last = found.last + fragment.last if fragment.empty else fragment.last
            found = _Piece(found.empty and fragment.empty, first, last)
        return found

    def _repeated(self, fragment: _Piece) -> _Piece:
        while match := _QUANTIFIER.match(self.rest):
            self.rest = self.rest[match.end() :]
            low, high = _times(match[1])
            if match[2] == "+":  # possessive: matches in one way
                fragment = self._once(fragment)
            elif high is None or high >= _MANY:
                self.made.link(fragment.last, fragment.first)
            fragment = _Piece(fragment.empty or low == 0, fragment.first, fragment.last)
        return fragment

    def _once(self, fragment: _Piece) -> _Piece:
        """One state in the place of a piece that matches in one way only."""
        inside = set(range(min(fragment.first, default=0), len(self.made.reads)))
        for step in [step for step in self.made.steps if inside.issuperset(step)]:
            del self.made.steps[step]
        reads = 0
        for state in inside:
            reads |= self.made.reads[state]
        return self.made.state(reads) if inside else fragment

    def _atom(self) -> _Piece:
        if group := _GROUP.match(self.rest):
            self.rest = self.rest[group.end() :]
            return self._group(group[0])
        if self._take("("):
            return self._group("(")
        if found := _CLASS.match(self.rest):
            self.rest = self.rest[found.end() :]
            return self._state(found[0])
        if self.rest[0] == "\\":
            return self._escape()
        char, self.rest = self.rest[0], self.rest[1:]
        if char in "^$":
            return _Piece(True)
        return self._state(char if char == "." else re.escape(char))

    def _group(self, opened: str) -> _Piece:
        inner = self._choice()
        self._take(")")
        if opened in ("(?=", "(?!", "(?<=", "(?<!"):
            return _Piece(True)
        return self._once(inner) if opened == "(?>" else inner

    def _escape(self) -> _Piece:
        char, self.rest = self.rest[1:2], self.rest[2:]
        if char in ("p", "P", "x", "u", "k"):  # \p{Alpha}, \x41, \u0041, \k<name>: any character will do
            self.rest = re.sub(r"^(\{[^}]*\}|<\w+>|[0-9a-fA-F]{2,4}|\w)", "", self.rest)
            return self.made.state(_ALL)
        if char == "Q":
            quoted, _, self.rest = self.rest.partition("\\E")
            self.rest = re.escape(quoted) + self.rest
            return _Piece(True)
        if char in "bBAzZG" or char.isdigit():
            return _Piece(True)
        if char.lower() in _CLASSES:
            reads = _reads(_CLASSES[char.lower()], False)
            return self.made.state(reads if char.islower() else _ALL & ~reads)
        return self._state(re.escape(char))

    def _state(self, text: str) -> _Piece:
        return self.made.state(_reads(text, self.fold))

    def _take(self, char: str) -> bool:
        found = self.rest.startswith(char)
        self.rest = self.rest[len(char) :] if found else self.rest
        return found


def _times(quantifier: str) -> tuple[int, int | None]:
    if quantifier in "*+?":
        return int(quantifier == "+"), 1 if quantifier == "?" else None
    low, comma, high = quantifier.strip("{}").partition(",")
    least = int(low or 0)
    return least, (int(high) if high else None) if comma else least


@lru_cache(maxsize=1000)
def _reads(text: str, fold: bool) -> int:
    """Which characters one element of a pattern reads; all, where Python does not understand it."""
    try:
        with warnings.catch_warnings(action="ignore"):
            found = re.compile(text, re.IGNORECASE if fold else 0)
    except re.error:
        return _ALL
    return sum(1 << code for code in range(128) if found.fullmatch(chr(code))) | (bool(found.fullmatch("é")) << 128)


def _cycles(after: Mapping[_State, set[_State]]) -> Iterator[set[_State]]:
    """The largest sets of states that all reach one another (Kosaraju's way: once along the steps, once back)."""
    before: dict[_State, set[_State]] = {}
    for one, others in after.items():
        for other in others:
            before.setdefault(other, set()).add(one)
    seen: set[_State] = set()
    order = [state for start in after for state in _finished(after, start, seen)]
    seen = set()
    for start in reversed(order):
        group = set(_finished(before, start, seen))
        if len(group) > 1 or start in after.get(start, ()):
            yield group


def _finished(after: Mapping[_State, set[_State]], start: _State, seen: set[_State]) -> list[_State]:
    """The states not yet seen that a state reaches, each after all that it reaches."""
    if start in seen:
        return []
    seen.add(start)
    done, ahead = [], [(start, iter(after.get(start, ())))]
    while ahead:
        state, others = ahead[-1]
        following = next((other for other in others if other not in seen), None)
        if following is None:
            done.append(state)
            ahead.pop()
        else:
            seen.add(following)
            ahead.append((following, iter(after.get(following, ()))))
    return done
