"""Spark's grammar of expressions, inside sqlglot's of statements: each node knows the words that it stands for.

sqlglot reads expressions of forty dialects into one tree, and loses on the way what is Spark's own: which operator
binds tighter, arguments that it does not know, letters of a format. So expressions are read here, rule by rule as in
Spark's own grammar (SqlBaseParser.g4), into the same nodes. A function is a name and its arguments, whatever it is
called.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from headgate.plan.sql.vocabulary import (
    BEGINS,
    BETWEEN_ARGUMENTS,
    BINARY,
    BYTES,
    ENDS,
    ENDS_THAT_CALL,
    INTERVAL_UNITS,
    LEAST,
    LIKES,
    LITERAL_TYPES,
    NO_FUNCTIONS,
    OF_UNITS,
    QUANTIFIERS,
    SHIFT,
    SIDES,
    STRINGS,
    SUBQUERY,
    UNARY,
    UNITS,
    RightShift,
    UnsignedRightShift,
)
from headgate.plan.sql.words import Words, marked, span_of

T = TokenType


class Grammar(SparkParser):
    """Statements as sqlglot reads them, expressions as Spark does."""

    _words: tuple[Any, Words] | None = None
    _variables: tuple[frozenset[str], ...] = ()  # of the lambdas around

    # What sqlglot asks for an expression.

    def _parse_disjunction(self) -> exp.Expr | None:
        return self._boolean() if self._begins_expression() else None

    def _parse_function(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        del args, kwargs
        return self._call() if self._calls() else None

    def _parse_bitwise(self) -> exp.Expr | None:
        return self._value() if self._begins_expression() else None

    # Rules.

    def _boolean(self) -> exp.Expr:
        """OR of ANDs of conditions."""
        return self._chain(T.OR, exp.Or, lambda: self._chain(T.AND, exp.And, self._condition))

    def _chain(self, token: TokenType, kind: type[exp.Expr], operand: Callable[[], exp.Expr]) -> exp.Expr:
        first, left = self._index, operand()
        while self._match(token):
            left = self._node(kind(this=left, expression=operand()), first)
        return left

    def _condition(self) -> exp.Expr:
        first = self._index
        if self._match(T.NOT):
            return self._node(exp.Not(this=self._condition()), first)
        if self._curr.token_type == T.EXISTS and self._next.token_type == T.L_PAREN and self._subquery_at(2):
            self._advance(2)
            return self._node(exp.Exists(this=self._query()), first)
        return self._predicate(self._value(), first)

    def _predicate(self, left: exp.Expr, first: int) -> exp.Expr:
        """IN, BETWEEN, LIKE or IS behind a value; one of them at most."""
        start = self._index
        negated = self._match(T.NOT)
        found = self._is(left, first) if not negated and self._match(T.IS) else self._range(left, first)
        if found is None:
            self._retreat(start)
            return left
        return self._negated(found, first) if negated else found

    def _negated(self, found: exp.Expr, first: int) -> exp.Expr:
        """`a NOT IN b`: what is negated has no words of its own, for the NOT stands among them."""
        for node in (found, found.this) if isinstance(found, exp.Escape) else (found,):
            node.meta["negated"] = node.meta.pop("span")
        return self._node(exp.Not(this=found), first)

    def _is(self, left: exp.Expr, first: int) -> exp.Expr:
        negated = self._match(T.NOT)
        if self._match(T.DISTINCT):
            self._expect(T.FROM, "FROM")
            kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return self._node(kind(this=left, expression=self._value()), first)
        at = self._index
        word = self._curr.text.upper()
        if word not in ("NULL", "TRUE", "FALSE", "UNKNOWN"):
            self.raise_error("Expecting NULL, TRUE, FALSE or DISTINCT FROM")
        self._advance()
        said = {"NULL": exp.Null(), "UNKNOWN": exp.Var(this=word)}.get(word, exp.Boolean(this=word == "TRUE"))
        found = self._node(exp.Is(this=left, expression=self._node(said, at)), first)
        return self._negated(found, first) if negated else found

    def _range(self, left: exp.Expr, first: int) -> exp.Expr | None:
        if self._match(T.BETWEEN):
            low = self._value()
            self._expect(T.AND, "AND")
            return self._node(exp.Between(this=left, low=low, high=self._value()), first)
        if self._match(T.IN):
            return self._in(left, first)
        kind = LIKES.get(self._curr.token_type)
        if kind is None:
            return None
        self._advance()
        quantifier = QUANTIFIERS.get(self._curr.text.upper()) if self._next.token_type == T.L_PAREN else None
        if quantifier is not None and kind is not exp.RegexpLike:
            at = self._index
            self._advance(2)
            listed = exp.Tuple(expressions=self._listed(self._boolean))
            return self._node(kind(this=left, expression=self._node(quantifier(this=listed), at)), first)
        found = self._node(kind(this=left, expression=self._value()), first)
        if kind is not exp.RegexpLike and self._match(T.ESCAPE):
            found = self._node(exp.Escape(this=found, expression=self._string()), first)
        return found

    def _in(self, left: exp.Expr, first: int) -> exp.Expr:
        self._expect(T.L_PAREN, "(")
        if self._curr.token_type in SUBQUERY:
            return self._node(exp.In(this=left, query=self._query()), first)
        return self._node(exp.In(this=left, expressions=self._listed(self._boolean)), first)

    def _value(self, least: int = LEAST) -> exp.Expr:
        """Arithmetic and comparisons, operators that bind at least so tightly."""
        first, left = self._index, self._signed()
        while True:
            binds, kind, words = self._operator()
            if kind is None or binds < least:
                return left
            self._advance(words)
            left = self._node(kind(this=left, expression=self._value(binds + 1)), first)

    def _operator(self) -> tuple[int, type[exp.Binary] | None, int]:
        """The operator that comes next: how tightly it binds, its kind, and of how many tokens it is."""
        token = self._curr.token_type
        if token in (T.LT, T.GT) and self._next.token_type == token and self._next.start == self._curr.end + 1:
            third = self._tokens[self._index + 2] if self._index + 2 < self._tokens_size else self._next
            unsigned = token == T.GT and third.token_type == T.GT and third.start == self._next.end + 1
            if unsigned:
                return SHIFT, UnsignedRightShift, 3
            return SHIFT, exp.BitwiseLeftShift if token == T.LT else RightShift, 2
        found = BINARY.get(token)
        return (*found, 1) if found else (0, None, 1)

    def _signed(self) -> exp.Expr:
        first = self._index
        kind = UNARY.get(self._curr.token_type)
        if kind is None:
            return self._postfix()
        self._advance()
        return self._node(kind(this=self._signed()), first)

    def _postfix(self) -> exp.Expr:
        """A primary expression with what may stand behind it: a field, an element, a type, a collation."""
        first, left = self._index, self._primary()
        while True:
            if self._match(T.DOT):
                left = self._field(left, first)
            elif self._match(T.L_BRACKET):
                index = self._value()
                self._expect(T.R_BRACKET, "]")
                left = self._node(exp.Bracket(this=left, expressions=[index]), first)
            elif self._match(T.DCOLON):
                left = self._node(exp.Cast(this=left, to=self._type()), first)
            elif self._match(T.COLLATE):
                at = self._index
                self._name()
                while self._match(T.DOT):
                    self._name()
                said = self._node(exp.Var(this=self._words_at(at)), at)
                left = self._node(exp.Collate(this=left, expression=said), first)
            else:
                return left

    def _field(self, base: exp.Expr, first: int) -> exp.Expr:
        at = self._index
        if self._match(T.STAR):
            star = self._star(at)
            if not isinstance(base, exp.Column):
                self.raise_error("Expecting a name")
            return self._node(exp.Column(this=star, table=base.this, db=base.args.get("table")), first)
        if self._calls() and isinstance(base, exp.Column | exp.Dot):
            return self._node(exp.Dot(this=base, expression=self._call()), first)
        name = self._name()
        if isinstance(base, exp.Column) and not base.args.get("catalog"):
            above = {"table": base.this, "db": base.args.get("table"), "catalog": base.args.get("db")}
            return self._node(exp.Column(this=name, **above), first)
        return self._node(exp.Dot(this=base, expression=name), first)

    def _primary(self) -> exp.Expr:
        first, token = self._index, self._curr.token_type
        if token == T.L_PAREN:
            return self._parenthesis()
        if token in STRINGS or token in BYTES:
            return self._string()
        if token == T.NUMBER or (token == T.DOT and self._next.token_type == T.NUMBER):
            return self._number()
        if token == T.STAR:
            self._advance()
            return self._star(first)
        word = self._curr.text.upper()
        if token in (T.PLACEHOLDER, T.PARAMETER, T.COLON):
            self._advance()
            if token != T.PLACEHOLDER and self._is_name(any_word=True):
                self._advance()
            return self._node(exp.Placeholder(), first)
        if token == T.CASE:
            return self._case()
        if word in ("CAST", "TRY_CAST") and self._next.token_type == T.L_PAREN:
            return self._cast(exp.TryCast if word == "TRY_CAST" else exp.Cast)
        if word == "INTERVAL" and self._is_interval():
            return self._interval()
        if word in LITERAL_TYPES and token != T.IDENTIFIER and self._next.token_type in STRINGS:
            kind = self._node(exp.DataType.build(word, dialect="spark"), first, first)
            self._advance()
            return self._node(exp.Cast(this=self._string(), to=kind), first)
        if token != T.IDENTIFIER and word in ("NULL", "TRUE", "FALSE") and self._next.token_type != T.L_PAREN:
            self._advance()
            return self._node(exp.Null() if word == "NULL" else exp.Boolean(this=word == "TRUE"), first)
        if self._next.token_type == T.ARROW and self._is_name():
            return self._lambda([self._name()], first)
        if self._calls():
            return self._call()
        if not self._is_name():
            self.raise_error("Expecting an expression")
        return self._column(self._name(), first)

    def _parenthesis(self) -> exp.Expr:
        """Parentheses, a row, the parameters of a lambda, or a subquery."""
        first = self._index
        self._advance()
        if self._curr.token_type in SUBQUERY:
            return self._node(self._query(), first)
        names = self._parameters()
        if names:
            return self._lambda(names, first)
        items = self._listed(self._named)
        if len(items) == 1 and not isinstance(items[0], exp.Alias):
            return self._node(exp.Paren(this=items[0]), first)
        return self._node(exp.Tuple(expressions=items), first)

    def _parameters(self) -> list[exp.Expr]:
        """The names of `(a, b) -> …`, if that follows."""
        start, names = self._index, list[exp.Expr]()
        while self._is_name() and self._next.token_type in (T.COMMA, T.R_PAREN):
            names.append(self._name())
            if self._match(T.R_PAREN):
                if self._curr.token_type == T.ARROW:
                    return names
                break
            self._advance()
        self._retreat(start)
        return []

    def _lambda(self, names: list[exp.Expr], first: int) -> exp.Expr:
        self._expect(T.ARROW, "->")
        outside = self._variables
        self._variables = (*outside, frozenset(name.name.lower() for name in names))
        body = self._boolean()
        self._variables = outside
        return self._node(exp.Lambda(this=body, expressions=names), first)

    def _column(self, name: exp.Expr, first: int) -> exp.Expr:
        if any(name.name.lower() in names for names in self._variables):
            return name
        return self._node(exp.Column(this=name), first)

    def _call(self) -> exp.Expr:
        """A function's name, its arguments, and the clauses behind them."""
        first, name = self._index, self._curr.text
        self._advance(2)
        call: exp.Expr = self._node(exp.Anonymous(this=name, expressions=self._arguments(name.upper())), first)
        if self._match_text_seq("WITHIN", "GROUP"):
            self._skip_parenthesis()
            call = self._node(exp.WithinGroup(this=call), first)
        if self._curr.text.upper() == "FILTER" and self._next.token_type == T.L_PAREN:
            at = self._index + 2
            self._advance(2)
            self._expect(T.WHERE, "WHERE")
            where = self._node(exp.Where(this=self._boolean()), at)
            self._expect(T.R_PAREN, ")")
            call = self._node(exp.Filter(this=call, expression=where), first)
        if self._match_text_seq("IGNORE", "NULLS") or self._match_text_seq("RESPECT", "NULLS"):
            call = self._node(exp.IgnoreNulls(this=call), first)
        if self._match_text_seq("OVER"):
            if self._curr.token_type == T.L_PAREN:
                self._skip_parenthesis()
            else:
                self._name()
            call = self._node(exp.Window(this=call), first)
        return call

    def _arguments(self, function: str) -> list[exp.Expr]:
        """What stands in the parentheses of a call, whatever words are between."""
        if self._match(T.R_PAREN):
            return []
        first = self._index
        if function == "EXTRACT" and self._is_name() and self._next.token_type == T.FROM:
            self._advance()
            said = self._node(exp.Var(this=self._prev.text), first)
            self._advance()
            return [said, *self._listed(self._value)]
        if function == "TRIM" and self._curr.text.upper() in SIDES:
            self._advance()
            self._match(T.FROM)
        if self._match(T.DISTINCT):
            return [self._node(exp.Distinct(expressions=self._listed(self._boolean)), first)]
        if self._match(T.ALL):
            return self._listed(self._boolean)
        item = self._value if function == "POSITION" else self._named
        found = self._listed(item, {"IN"} if function == "POSITION" else BETWEEN_ARGUMENTS)
        if function in OF_UNITS and len(found) == 3 and found[0].name.upper() in UNITS:
            span = span_of(found[0])
            assert span is not None
            found[0] = marked(exp.Var(this=found[0].name.upper()), span.words, span.first, span.last)
        return found

    def _listed(self, item: Callable[[], exp.Expr], between: Collection[str] = ()) -> list[exp.Expr]:
        """Items up to a closing parenthesis."""
        if self._match(T.R_PAREN):
            return []
        found = [item()]
        while True:
            if self._match(T.COMMA) or (self._curr.text.upper() in between and self._advance_any(True)):
                found.append(item())
            elif self._match_text_seq("IGNORE", "NULLS"):
                found[-1] = self._node(exp.IgnoreNulls(this=found[-1]), found[-1].meta["span"].first)
            else:
                self._expect(T.R_PAREN, ")")
                return found

    def _named(self) -> exp.Expr:
        """An argument, perhaps with a name: `k => 1`, or `a AS b` in a struct."""
        first = self._index
        if self._next.token_type == T.FARROW and self._is_name():
            name = self._name()
            self._advance()
            return self._node(exp.Kwarg(this=name, expression=self._boolean()), first)
        value = self._boolean()
        if self._match(T.ALIAS):
            return self._node(exp.Alias(this=value, alias=self._name()), first)
        return value

    def _case(self) -> exp.Expr:
        first = self._index
        self._advance()
        value = None if self._curr.token_type == T.WHEN else self._boolean()
        ifs = []
        while self._curr.token_type == T.WHEN:
            at = self._index
            self._advance()
            condition = self._boolean()
            self._expect(T.THEN, "THEN")
            ifs.append(self._node(exp.If(this=condition, true=self._boolean()), at))
        if not ifs:
            self.raise_error("Expecting WHEN")
        default = self._boolean() if self._match(T.ELSE) else None
        self._expect(T.END, "END")
        return self._node(exp.Case(this=value, ifs=ifs, default=default), first)

    def _cast(self, kind: type[exp.Cast]) -> exp.Expr:
        first = self._index
        self._advance(2)
        value = self._boolean()
        self._expect(T.ALIAS, "AS")
        to = self._type()
        self._expect(T.R_PAREN, ")")
        return self._node(kind(this=value, to=to), first)

    def _type(self) -> exp.Expr:
        first = self._index
        kind = self._parse_types(schema=True, with_collation=True)
        if kind is None:
            self.raise_error("Expecting a type")
        while self._match(T.COLLATE):
            self._name()
        assert kind is not None
        inside = [part.this for part in kind.find_all(exp.DataType)]
        head = exp.DataType.Type.TIME if exp.DataType.Type.TIME in inside else inside[0]
        return self._node(exp.DataType(this=head), first)  # without what is inside: its names are no columns

    def _is_interval(self) -> bool:
        following = self._next.token_type
        if following in (T.DASH, T.PLUS):
            after = self._tokens[self._index + 2].token_type if self._index + 2 < self._tokens_size else None
            return after == T.NUMBER or after in STRINGS
        return following == T.NUMBER or following in STRINGS

    def _interval(self) -> exp.Expr:
        """`INTERVAL '1' DAY 2 HOURS`, `INTERVAL '1 2' DAY TO HOUR`, or `INTERVAL '1 day'`: a constant."""
        first = self._index
        self._advance()
        self._amount()
        if self._unit():
            while self._amounts_to_unit():
                self._amount()
                self._unit()
        if self._match_text_seq("TO"):
            self._unit()
        return self._node(exp.Interval(), first)

    def _amount(self) -> None:
        self._match_set((T.DASH, T.PLUS))
        if self._curr.token_type in STRINGS:
            self._string()
        else:
            self._number()

    def _unit(self) -> bool:
        return self._curr.text.upper() in INTERVAL_UNITS and bool(self._advance_any(True))

    def _amounts_to_unit(self) -> bool:
        """Whether another part of an interval follows, as in `INTERVAL 1 DAY 2 HOURS`."""
        at = self._index + (self._curr.token_type in (T.DASH, T.PLUS))
        if at + 1 >= self._tokens_size:
            return False
        amount, unit = self._tokens[at], self._tokens[at + 1]
        is_amount = amount.token_type == T.NUMBER or amount.token_type in STRINGS
        return is_amount and unit.text.upper() in INTERVAL_UNITS

    def _string(self) -> exp.Expr:
        """A text, which may be written in several pieces."""
        first, token = self._index, self._curr
        if token.token_type in BYTES:
            self._advance()
            return self._node(exp.HexString(this=token.text), first)
        if token.token_type not in STRINGS:
            self.raise_error("Expecting a text")
        pieces = []
        while self._curr.token_type in STRINGS:
            pieces.append(self._curr.text)
            self._advance()
        return self._node(exp.Literal.string("".join(pieces)), first)

    def _number(self) -> exp.Expr:
        """A number, with its suffix: `1L` is three tokens in one place."""
        first, begins = self._index, self._curr.start
        text = self._curr.text
        if self._match(T.DOT):
            text += self._curr.text
            begins = self._curr.start
        self._advance()
        while self._curr.token_type == T.DCOLON and self._curr.start == begins:
            self._advance()
            text += self._curr.text
            self._advance()
        return self._node(exp.Literal.number(text), first)

    def _star(self, first: int) -> exp.Expr:
        if self._curr.token_type == T.EXCEPT and self._next.token_type == T.L_PAREN:
            self._advance()
            self._skip_parenthesis()
            return self._node(exp.Star(except_=[exp.Identifier(this="x")]), first)
        return self._node(exp.Star(), first)

    def _query(self) -> exp.Expr:
        """A subquery in an expression, which is refused with its own sentence."""
        query = self._parse_query_modifiers(self._parse_set_operations(self._parse_select()))
        self._expect(T.R_PAREN, ")")
        return exp.Subquery(this=query)

    # Words.

    def _name(self) -> exp.Expr:
        first, token = self._index, self._curr
        if not self._is_name(any_word=True):
            self.raise_error("Expecting a name")
        self._advance()
        return self._node(exp.Identifier(this=token.text, quoted=token.token_type == T.IDENTIFIER), first)

    def _is_name(self, any_word: bool = False) -> bool:
        token = self._curr
        if not token:
            return False
        if token.token_type in (T.VAR, T.IDENTIFIER):
            return token.token_type == T.IDENTIFIER or any_word or token.text.upper() not in ENDS
        is_word = bool(token.text) and token.text.replace("_", "a").isalnum() and not token.text[0].isdigit()
        if not is_word or token.token_type in STRINGS or token.token_type in BYTES or token.token_type == T.NUMBER:
            return False
        return any_word or token.text.upper() not in ENDS

    def _calls(self) -> bool:
        """Whether a function's name and its parenthesis come next."""
        if self._next.token_type != T.L_PAREN or not self._is_name(any_word=True):
            return False
        word = self._curr.text.upper()
        if self._curr.token_type == T.IDENTIFIER:
            return True
        return word not in NO_FUNCTIONS and (word not in ENDS or word in ENDS_THAT_CALL)

    def _begins_expression(self) -> bool:
        token = self._curr
        if not token or token.token_type in (T.R_PAREN, T.COMMA, T.SEMICOLON):
            return False
        return self._is_name() or self._calls() or token.token_type in BEGINS

    def _subquery_at(self, ahead: int) -> bool:
        at = self._index + ahead
        return at < self._tokens_size and self._tokens[at].token_type in SUBQUERY

    def _words_at(self, first: int) -> str:
        return self._spelled().text(first, self._index - 1)

    def _skip_parenthesis(self) -> None:
        """Over parentheses whose inside is refused in any case."""
        self._expect(T.L_PAREN, "(")
        depth = 1
        while depth and self._curr:
            depth += (self._curr.token_type == T.L_PAREN) - (self._curr.token_type == T.R_PAREN)
            self._advance()

    def _expect(self, token: TokenType, what: str) -> None:
        if not self._match(token):
            self.raise_error(f"Expecting {what}")

    def _node(self, node: exp.Expr, first: int, last: int | None = None) -> exp.Expr:
        return marked(node, self._spelled(), first, self._index - 1 if last is None else last)

    def _spelled(self) -> Words:
        if self._words is None or self._words[0] is not self._tokens:
            self._words = (self._tokens, Words.of(self.sql, self._tokens))
        return self._words[1]
