"""A query's SQL laid out for readers: a line for each clause, its words as they were written."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from headgate.plan.sql.parse import tokenized
from headgate.plan.sql.words import Words

_CLAUSES = frozenset(
    {
        *(TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.WITH),
        *(TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.JOIN),
    }
)
_BEFORE_JOIN = frozenset({TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.INNER, TokenType.CROSS})
_OPENS = frozenset({TokenType.SELECT, TokenType.WITH})


def laid_out(sql: str) -> str:
    """SQL with a line for each clause, without comments.

    >>> print(laid_out("select a, extract(year FROM b) AS y from (SELECT * FROM s) where a>1 -- much"))
    select a, extract(year FROM b) AS y
    from (
      SELECT *
      FROM s)
    where a>1
    """
    tokens = tokenized(sql)
    words = Words.of(sql, tokens)
    text, queries = "", [True]  # for each open parenthesis whether a query is in it
    for at, token in enumerate(tokens):
        kind, before = token.token_type, tokens[at - 1].token_type if at else None
        opened = before == TokenType.L_PAREN and kind in _OPENS
        joins = kind in _BEFORE_JOIN and at + 1 < len(tokens) and tokens[at + 1].token_type == TokenType.JOIN
        begins = kind in _CLAUSES and not (kind == TokenType.JOIN and before in _BEFORE_JOIN)
        if opened:
            queries[-1] = True
        if text and queries[-1] and (begins or joins):
            text += "\n" + "  " * (sum(queries) - 1)
        elif words.gaps[at] and text:
            text += " "
        text += words.spelled[at]
        if kind == TokenType.L_PAREN:
            queries.append(False)
        elif kind == TokenType.R_PAREN and len(queries) > 1:
            queries.pop()
    return text
