"""The words of Spark's expressions: operators and how tightly they bind, units, and words that are no names."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

T = TokenType


class Plus(exp.Unary):
    """A sign that is no operation on numbers, but makes a number of a text."""


class RightShift(exp.BitwiseRightShift):
    """`a >> b`, which runs as a call of the function.

    Behind the words ARRAY, MAP and STRUCT Spark's lexer takes >> for the end of a type, until as many > have come. In a
    text that is put together of several the words may stand far before.
    """

    function = "shiftright"


class UnsignedRightShift(RightShift):
    """`a >>> b`."""

    function = "shiftrightunsigned"


COMPARISONS: dict[TokenType, type[exp.Binary]] = {
    T.EQ: exp.EQ,
    T.NEQ: exp.NEQ,
    T.NULLSAFE_EQ: exp.NullSafeEQ,
    T.LT: exp.LT,
    T.LTE: exp.LTE,
    T.GT: exp.GT,
    T.GTE: exp.GTE,
}
LEAST = 1  # how tightly comparisons bind
# How tightly an operator binds; all of them associate to the left.
BINARY: dict[TokenType, tuple[int, type[exp.Binary]]] = {
    **{token: (LEAST, kind) for token, kind in COMPARISONS.items()},
    T.PIPE: (2, exp.BitwiseOr),
    T.CARET: (3, exp.BitwiseXor),
    T.AMP: (4, exp.BitwiseAnd),
    T.PLUS: (6, exp.Add),
    T.DASH: (6, exp.Sub),
    T.DPIPE: (6, exp.DPipe),
    T.STAR: (7, exp.Mul),
    T.SLASH: (7, exp.Div),
    T.MOD: (7, exp.Mod),
    T.DIV: (7, exp.IntDiv),
}
SHIFT = 5
UNARY: dict[TokenType, type[exp.Unary]] = {T.DASH: exp.Neg, T.PLUS: Plus, T.TILDE: exp.BitwiseNot}
LIKES: dict[TokenType, type[exp.Binary]] = {T.LIKE: exp.Like, T.ILIKE: exp.ILike, T.RLIKE: exp.RegexpLike}
STRINGS = frozenset({T.STRING, T.RAW_STRING, T.NATIONAL_STRING})
BYTES = frozenset({T.HEX_STRING})
SUBQUERY = frozenset({T.SELECT, T.WITH, T.FROM, T.VALUES})
QUANTIFIERS: dict[str, type[exp.Expr]] = {"ANY": exp.Any, "SOME": exp.Any, "ALL": exp.All}
LITERAL_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIME"})
INTERVAL_UNITS = frozenset(
    f"{unit}{s}"
    for unit in ["NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"]
    for s in ("", "S")
)
UNITS = frozenset(
    ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"]
)
OF_UNITS = frozenset(["TIMESTAMPADD", "DATEADD", "DATE_ADD", "TIMESTAMPDIFF", "DATEDIFF", "DATE_DIFF", "TIMEDIFF"])
BETWEEN_ARGUMENTS = frozenset({"FROM", "FOR", "PLACING"})  # words where others have a comma
SIDES = frozenset({"BOTH", "LEADING", "TRAILING"})
NO_FUNCTIONS = frozenset({"CASE", "CAST", "TRY_CAST", "NOT", "SELECT", "VALUES"})
# Words that end an expression or belong to the clause around it, and so are no columns.
ENDS = frozenset(
    [
        "AND",
        "OR",
        "NOT",
        "IN",
        "IS",
        "BETWEEN",
        "LIKE",
        "ILIKE",
        "RLIKE",
        "REGEXP",
        "ESCAPE",
        "COLLATE",
        "AS",
        "FROM",
        "WHERE",
        "GROUP",
        "HAVING",
        "ORDER",
        "SORT",
        "CLUSTER",
        "DISTRIBUTE",
        "LIMIT",
        "QUALIFY",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "MINUS",
        "ON",
        "USING",
        "JOIN",
        "INNER",
        "LEFT",
        "RIGHT",
        "FULL",
        "CROSS",
        "NATURAL",
        "SEMI",
        "ANTI",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "CASE",
        "SELECT",
        "DISTINCT",
        "WITH",
        "ASC",
        "DESC",
        "LATERAL",
        "TABLESAMPLE",
        "PIVOT",
        "UNPIVOT",
        "DIV",
        "FOR",
        "VALUES",
    ]
)


ENDS_THAT_CALL = frozenset({"LEFT", "RIGHT", "LIKE", "ILIKE", "RLIKE", "REGEXP", "AND", "OR", "DIV", "WHEN", "COLLATE"})
BEGINS = frozenset(
    {
        T.L_PAREN,
        T.NUMBER,
        T.STAR,
        T.NOT,
        T.CASE,
        T.PLACEHOLDER,
        T.PARAMETER,
        T.COLON,
        T.DOT,
        *UNARY,
        *STRINGS,
        *BYTES,
    }
)
