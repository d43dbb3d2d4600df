"""Expressions of one canonical form give one result on every row, and fail on the same rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.plan.sql.normal import canonical, conjunction, conjuncts, form, is_total
from headgate.plan.sql.parse import expression
from headgate.plan.sql.words import bare, written

TYPES = {"a": "int", "b": "int", "s": "string", "f": "boolean"}
VALUES: dict[str, tuple[Any, ...]] = {
    "a": (0, 2, None),
    "b": (0, 2),
    "s": ("2", "x", None),
    "f": (True, False, None),
}
ROWS = [dict(zip(VALUES, values, strict=True)) for values in itertools.product(*VALUES.values())]
Row = Mapping[str, Any]


class FailsError(Exception):
    """An expression fails on a row."""


def number(text: object) -> int | None:
    if text is None:
        return None
    if not str(text).isdigit():
        raise FailsError
    return int(str(text))


def compared(left: Any, sign: str, right: Any) -> bool | None:
    """As Spark: a null on the left, and the right is not looked at."""
    if left is None:
        return None
    value = right() if callable(right) else right
    if value is None:
        return None
    return bool({"=": left == value, ">": left > value, "<": left < value}[sign])


def divided(row: Row) -> float | None:
    if row["a"] == 0:
        raise FailsError
    return None if row["a"] is None else 4 / float(row["a"])


# Conditions in several spellings, and what they are on a row.
ATOMS: dict[tuple[str, ...], Callable[[Row], bool | None]] = {
    ("a > 1", "1 < a", "(a) > (1)", "a>1"): lambda row: compared(row["a"], ">", 1),
    ("a = b", "b = a", "b == a"): lambda row: compared(row["a"], "=", row["b"]),
    ("f", "(f)"): lambda row: row["f"],
    ("f IS NULL", "(f is null)"): lambda row: row["f"] is None,
    ("s = '2'", "'2' = s", 's = "2"'): lambda row: compared(row["s"], "=", "2"),
    ("s = 2", "(s)=2"): lambda row: compared(number(row["s"]), "=", 2),
    ("2 = s",): lambda row: compared(2, "=", number(row["s"])),
    ("a = s",): lambda row: compared(row["a"], "=", lambda: number(row["s"])),
    ("s = a",): lambda row: compared(number(row["s"]), "=", row["a"]),
    ("4 / a > b",): lambda row: compared(divided(row), ">", row["b"]),
    ("b < 4 / a",): lambda row: compared(row["b"], "<", lambda: divided(row)),
    ("a > 0 - 4 / b",): lambda row: compared(row["a"], ">", lambda: _quotient(row)),
}


def _quotient(row: Row) -> float:
    if row["b"] == 0:
        raise FailsError
    return 0 - 4 / float(row["b"])


@dataclass(frozen=True)
class Tree:
    """AND, OR and NOT of atoms."""

    sign: str
    parts: tuple[Tree, ...] = ()
    atom: tuple[str, ...] = ()

    def text(self, random: Random) -> str:
        if self.atom:
            return random.choice(self.atom)
        if self.sign == "NOT":
            return f"{random.choice(('NOT', '!', 'not'))} ({self.parts[0].text(random)})"
        told = [part.text(random) for part in self.parts]
        wrapped = [
            f"({text})" if part.parts and (part.sign != self.sign or random.random() < 0.5) else text
            for part, text in zip(self.parts, told, strict=True)
        ]
        return f" {random.choice((self.sign, self.sign.lower()))} ".join(wrapped)

    def on(self, row: Row) -> bool | None:
        """Three-valued, from left to right: what decides ends it."""
        if self.atom:
            return ATOMS[self.atom](row)
        if self.sign == "NOT":
            value = self.parts[0].on(row)
            return None if value is None else not value
        found: bool | None = self.sign == "AND"
        for part in self.parts:
            value = part.on(row)
            if value is (self.sign == "OR"):
                return value
            found = None if value is None else found
        return found

    def meaning(self) -> list[object]:
        """What it is on each row."""
        return [self._or_fails(row) for row in ROWS]

    def _or_fails(self, row: Row) -> object:
        try:
            return self.on(row)
        except FailsError:
            return "fails"


LEAVES = st.sampled_from(list(ATOMS)).map(lambda atom: Tree("", atom=atom))
TREES = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.tuples(st.sampled_from(("AND", "OR")), st.lists(below, min_size=2, max_size=3).map(tuple)).map(
            lambda made: Tree(made[0], made[1])
        ),
        below.map(lambda tree: Tree("NOT", (tree,))),
    ),
    max_leaves=6,
)


def changed(tree: Tree, random: Random) -> Tree:
    """The same operands in another order, some of them twice: sometimes that changes the meaning, sometimes not."""
    if tree.atom:
        return tree
    parts = [changed(part, random) for part in tree.parts]
    if tree.sign != "NOT":
        parts += random.sample(parts, random.randint(0, 1))
        if random.random() < 0.6:
            random.shuffle(parts)
    return Tree(tree.sign, tuple(parts))


@settings(max_examples=1500)
@given(TREES, st.randoms(use_true_random=False))
def test_what_has_one_form_means_the_same_on_every_row(tree: Tree, random: Random) -> None:
    other = changed(tree, random)
    one, two = tree.text(random), other.text(random)
    if form(expression(one), TYPES) == form(expression(two), TYPES):
        assert tree.meaning() == other.meaning(), (one, two)


@settings(max_examples=500)
@given(TREES, st.randoms(use_true_random=False))
def test_other_spellings_have_one_form(tree: Tree, random: Random) -> None:
    assert form(expression(tree.text(random)), TYPES) == form(expression(tree.text(random)), TYPES)


@settings(max_examples=500)
@given(TREES, st.randoms(use_true_random=False))
def test_what_counts_as_total_fails_on_no_row(tree: Tree, random: Random) -> None:
    if is_total(expression(tree.text(random)), TYPES):
        assert "fails" not in tree.meaning()


@settings(max_examples=500)
@given(TREES, st.randoms(use_true_random=False))
def test_what_runs_has_its_operands_where_their_author_put_them(tree: Tree, random: Random) -> None:
    text = tree.text(random)
    assert str(canonical(expression(text), TYPES)) == written(bare(expression(text)))
    parts = conjuncts(expression(text))
    again = conjuncts(expression(str(conjunction(parts, TYPES))))
    assert [written(part) for part in again] == [written(part) for part in parts]
