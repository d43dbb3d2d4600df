"""From SQL text to one syntax tree, with our own errors and places."""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from headgate.model import HeadgateError
from headgate.plan.sql.bounds import check_text, check_tokens, check_tree, room
from headgate.plan.sql.grammar import Grammar
from headgate.plan.sql.words import span_of


class _Spark(Spark):
    """Spark's SQL."""

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012 - 'it''s' is one text, not two

    class Parser(Grammar):
        pass


SPARK = Dialect.get_or_raise(_Spark)
logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # what it warns of we refuse in our words
_BUILTIN = ["system", ".", "builtin", "."]  # where Spark's own functions are
_OPENS_A_QUERY = {TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN, TokenType.VALUES}


def parse(sql: str) -> exp.Query:
    """The one query that the text holds.

    >>> parse("select a from s").sql()
    'SELECT a FROM s'
    >>> parse("select a from s where")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: line 1, column 17: the SQL stops after 'where'; complete it
    """
    check_text(sql)
    tokens = tokenized(sql)
    check_tokens(tokens)
    if not tokens:
        raise HeadgateError("the SQL is empty", hint="write a query: SELECT … FROM a stream")
    if tokens[0].token_type not in _OPENS_A_QUERY:
        raise HeadgateError(
            f"only queries can run continuously, found {tokens[0].text.upper()}",
            where=token_place(tokens[0]),
            hint="start with SELECT or WITH",
        )
    for token, following in pairwise(tokens):  # before it is parsed: sqlglot knows only some ways to write it
        if token.token_type == TokenType.USING and following.token_type == TokenType.STRING:
            message, hint = "TRANSFORM USING reaches outside the data", "use Spark's own functions"
            raise HeadgateError(message, where=token_place(token), hint=hint)
    query = _one_query(_statements(sql, tokens), tokens)
    check_tree(query)
    return query


def expression(text: str) -> exp.Expr:
    """The tree of an expression that is written already; a new one each time.

    >>> type(expression("a + 1")).__name__
    'Add'
    """
    return _expression(text).copy()


@lru_cache(maxsize=10_000)
def _expression(text: str) -> exp.Expr:
    with room():
        tokens = _in_sparks_words(SPARK.tokenize(text))
        (tree,) = SPARK.parser()._parse(lambda parser: parser._parse_disjunction(), tokens, text)
    assert tree is not None, f"no expression: {text}"
    return tree


def refusal(node: exp.Expr, message: str, hint: str) -> HeadgateError:
    """The error for something found at a node."""
    return HeadgateError(message, where=place(node), hint=hint)


def place(node: exp.Expr) -> str:
    r"""Where a node stands in the SQL: its own first token, or the nearest one that the parser kept.

    >>> place(parse("select a\nfrom s where x > 1").args["where"])
    'line 2, column 14'
    """
    here: exp.Expr | None = node
    while here is not None:
        marks = [place for part in here.walk() if (place := _mark(part)) is not None]
        if marks:
            _, line, column = min(marks)
            return _place(line, column)
        here = here.parent
    return ""


def _mark(node: exp.Expr) -> tuple[int, int, int] | None:
    """Where a node begins, by itself: its place in the text, its line and its column."""
    span = span_of(node)
    if span is not None:
        return span.token.start, span.token.line, span.token.col - (span.token.end - span.token.start)
    kept = node.meta
    return (kept["start"], kept["line"], kept["col"] - (kept["end"] - kept["start"])) if "line" in kept else None


def token_place(token: Token) -> str:
    """Where a token begins."""
    return _place(token.line, token.col - (token.end - token.start))


def _place(line: int, column: int) -> str:
    return f"line {line}, column {max(1, column)}"


def tokenized(sql: str) -> list[Token]:
    """The words of a statement."""
    try:
        tokens = SPARK.tokenize(sql)
    except TokenError as error:
        opened = re.search(r"from \d+:(\d+)", str(error.__cause__))
        before = sql[: int(opened[1]) if opened else max(0, sql.rfind("/*"))]
        where = _place(before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise HeadgateError("a quote or comment is never closed", where=where, hint="close it") from None
    return _in_sparks_words(tokens)


def _in_sparks_words(tokens: list[Token]) -> list[Token]:
    """Let sqlglot read names of functions as Spark does: `window(…)`, those in quotes, and those with their schema.

    And Flink's `TUMBLE(TABLE s, …)` as RisingWave's `TUMBLE(s, …)`.
    """
    kept: list[Token] = []
    for token, following in zip(tokens, [*tokens[1:], None], strict=False):
        opened = kept and kept[-1].token_type == TokenType.L_PAREN
        calls = following is not None and following.token_type == TokenType.L_PAREN
        if token.token_type == TokenType.TABLE and opened and not calls:
            continue
        if token.token_type == TokenType.WINDOW and (following is None or following.token_type != TokenType.VAR):
            token.token_type = TokenType.VAR
        if calls and token.token_type == TokenType.IDENTIFIER and re.fullmatch(r"\w+", token.text):
            token.token_type = TokenType.VAR
        if calls and [token.text.lower() for token in kept[-4:]] == _BUILTIN:
            del kept[-4:]
        kept.append(token)
    return kept


def _statements(sql: str, tokens: list[Token]) -> list[exp.Expr]:
    try:
        return [statement for statement in SPARK.parser().parse(tokens, sql) if statement is not None]
    except ParseError as error:
        raise _unreadable(error, tokens) from None
    except RecursionError:
        raise HeadgateError("the SQL is nested too deeply to be read", hint="split it with WITH") from None
    except Exception:  # what its parser says of half a clause, for instance IndexError, helps nobody
        raise HeadgateError("the SQL cannot be read", where=token_place(tokens[0]), hint="check its grammar") from None


def _unreadable(error: ParseError, tokens: list[Token]) -> HeadgateError:
    details = error.errors[0] if error.errors else {}
    text, line, column = str(details.get("highlight") or ""), details.get("line"), details.get("col")
    last = tokens[-1]
    if not text or (line, column) == (last.line, last.col):
        return HeadgateError(f"the SQL stops after '{last.text}'", where=token_place(last), hint="complete it")
    expected = str(details.get("description") or "").partition("Expecting ")[2]
    hint = f"'{expected}' is expected there" if expected else "check what stands before and after it"
    where = _place(int(line or 1), int(column or 1) - len(text) + 1)
    return HeadgateError(f"the SQL cannot be read at '{' '.join(text.split())}'", where=where, hint=hint)


def _one_query(statements: list[exp.Expr], tokens: list[Token]) -> exp.Query:
    if len(statements) > 1:
        second = next(after for token, after in pairwise(tokens) if token.text == ";")
        raise HeadgateError(
            f"one query is one statement, found {len(statements)}",
            where=token_place(second),
            hint="register each statement as a query of its own",
        )
    statement = statements[0]
    if not isinstance(statement, exp.Query):
        kind = statement.key.upper()
        raise refusal(statement, f"only queries can run continuously, found {kind}", "start with SELECT or WITH")
    return statement
