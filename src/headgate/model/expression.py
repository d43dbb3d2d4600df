"""An SQL expression of a plan: the author's words, which run, and the canonical form by which equal ones are known."""

from __future__ import annotations


class Expression(str):
    """Text that Spark evaluates, equal to every other text of the same canonical form.

    Two queries that write one condition in two ways share its operator, and Spark gets what one of the authors wrote.
    A plain text is its own form.

    >>> one, other = Expression("90 < temp", "temp > 90"), Expression("temp>90", "temp > 90")
    >>> one == other, one == "temp > 90", str(one)
    (True, True, '90 < temp')
    """

    __slots__ = ("form",)
    form: str

    def __new__(cls, text: str, form: str = "") -> Expression:
        self = super().__new__(cls, text)
        self.form = form or form_of(text)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.form == form_of(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.form)

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return str(self), self.form


def form_of(text: str) -> str:
    """The canonical form of an expression.

    >>> form_of(Expression("1<a", "a > 1")), form_of("1<a")
    ('a > 1', '1<a')
    """
    return text.form if isinstance(text, Expression) else text
