"""What the author of a query wrote: the words of a statement, and which of them each node of its tree stands for.

A tree is never written out again: what Spark gets are the author's words, with other words only in the places of nodes
that were replaced, such as a column by its qualified name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from headgate.model import HeadgateError
from headgate.plan.sql.vocabulary import RightShift

_ATOMIC = (
    *(exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Case, exp.Cast, exp.Anonymous, exp.Identifier, exp.Paren),
    exp.Alias,
)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a statement, without comments and line breaks.

    `gaps` tells which of them stand apart from the word before; `tokens` where they stand.
    """

    spelled: tuple[str, ...]
    gaps: tuple[bool, ...]
    tokens: tuple[Token, ...]

    @classmethod
    def of(cls, sql: str, tokens: Sequence[Token]) -> Words:
        spelled, gaps, end = [], [], -1
        for token in tokens:
            own = token.start >= end  # the tokenizer makes three tokens of `1L`, all in one place
            spelled.append(sql[token.start : token.end + 1] if own else "")
            gaps.append(token.start > end)
            end = max(end, token.end + 1)
        return cls(tuple(spelled), tuple(gaps), tuple(tokens))

    def __deepcopy__(self, memo: object) -> Words:
        return self

    def text(self, first: int, last: int) -> str:
        """The words from the first to the last."""
        places = range(first, last + 1)
        return "".join(f" {self.spelled[at]}" if self.gaps[at] else self.spelled[at] for at in places).lstrip()


@dataclass(frozen=True, slots=True)
class Span:
    """The words that a node stands for."""

    words: Words
    first: int
    last: int

    def __deepcopy__(self, memo: object) -> Span:
        return self

    @property
    def token(self) -> Token:
        """The first word, as the tokenizer saw it."""
        return self.words.tokens[self.first]


class Put(exp.Paren):
    """A node in the place of another one, which it replaced; in parentheses, where it is not atomic."""


def marked(node: exp.Expr, words: Words, first: int, last: int) -> exp.Expr:
    """A node that stands for these words."""
    node.meta["span"] = Span(words, first, last)
    return node


def span_of(node: exp.Expr) -> Span | None:
    """The words that a node stands for; None for one that is no expression of the query's text."""
    return node._meta.get("span") if node._meta else None


def hiding(node: exp.Expr, replacement: exp.Expr) -> str | None:
    """The parameter of a lambda around a node that another node would mean in its place, instead of a column."""
    names = {column.parts[0].name.lower() for column in replacement.find_all(exp.Column)}
    above = node.parent
    while above is not None and names:
        if isinstance(above, exp.Lambda):
            for parameter in above.expressions:
                if parameter.name.lower() in names:
                    return str(parameter.name)
        above = above.parent
    return None


def put(node: exp.Expr, replacement: exp.Expr) -> exp.Expr:
    """Put another node into the place of one, in the tree around it; what stands there now."""
    if (parameter := hiding(node, replacement)) is not None:
        message = f"the parameter '{parameter}' of a lambda hides a column of that name, which the lambda reads, too"
        raise HeadgateError(message, hint="give the parameter another name")
    if node.parent is None:
        return replacement
    holder = Put(this=replacement)
    holder.meta.update(node.meta)
    node.replace(holder)
    return holder


def raw(text: str) -> exp.Expr:
    """A text to be put into an expression as it is, such as a list of arguments."""
    token = Token.string(text)
    return marked(exp.Identifier(this=text), Words((text,), (False,), (token,)), 0, 0)


def bare(node: exp.Expr) -> exp.Expr:
    """A node without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def is_star(node: exp.Expr) -> bool:
    """Whether it is `*` or `t.*`."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def is_atomic(node: exp.Expr) -> bool:
    """Whether it needs no parentheses, wherever it is put."""
    return isinstance(node, _ATOMIC) and not isinstance(node, Put)


def written(node: exp.Expr) -> str:
    """The words of an expression, as its author wrote them, with those of what was put into it."""
    if isinstance(node, Put):
        inner = written(node.this)
        return inner if is_atomic(node.this) else f"({inner})"
    if isinstance(node, RightShift):
        return f"{node.function}({written(node.this)}, {written(node.expression)})"
    span = span_of(node)
    assert span is not None, f"{node.key} was not made of a text"
    pieces, at = [], span.first
    for holder in sorted(_holders(node), key=lambda holder: holder.meta["span"].first):
        own: Span = holder.meta["span"]
        before = span.words.text(at, own.first - 1)
        gap = " " if own.first > span.first and span.words.gaps[own.first] else ""
        pieces += [_apart(before, at > span.first and span.words.gaps[at]), gap, written(holder)]
        at = own.last + 1
    rest = span.words.text(at, span.last)
    pieces.append(_apart(rest, at > span.first and at <= span.last and span.words.gaps[at]))
    return "".join(pieces)


def _apart(text: str, gap: bool) -> str:
    return f" {text}" if gap and text else text


def _holders(node: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost places within a node that are written in other words."""
    return (part for part in node.walk(prune=_is_holder) if _is_holder(part))


def _is_holder(node: exp.Expr) -> bool:
    return isinstance(node, Put | RightShift)
