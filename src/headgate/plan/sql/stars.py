"""Stars: `SELECT *`, `t.*` and `struct(*)` written out, column by column.

A star must not reach Spark: there it would also stand for the columns that Headgate adds, such as when a tuple came.
"""

from __future__ import annotations

from sqlglot import exp

from headgate.model import unknown
from headgate.plan.sql.parse import place, refusal
from headgate.plan.sql.scope import FromItem, Scope


def only_star(node: exp.Select) -> bool:
    """Whether a query selects `*` and nothing else."""
    return (
        len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Star) and not _modified(node.expressions[0])
    )


def without_stars(node: exp.Select, scope: Scope) -> exp.Select:
    """SELECT with every star written out, except in `count(*)`."""
    copy = node.copy()
    items: list[exp.Expr] = []
    for item in copy.expressions:
        items += _columns(item, scope) if _is_star(item) else [_with_columns_in_calls(item, scope)]
    copy.set("expressions", [item.copy() for item in items])
    return copy


def _is_star(node: exp.Expr) -> bool:
    """Whether it is `*` or `t.*`; for sqlglot `count(*)` is one, too."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _with_columns_in_calls(item: exp.Expr, scope: Scope) -> exp.Expr:
    for star in [node for node in item.find_all(exp.Star, exp.Column) if _is_star(node)]:
        call = star.parent
        if isinstance(call, exp.Column) or (isinstance(call, exp.Count) and isinstance(star, exp.Star)):
            continue  # the star of a `t.*`, which has its own turn; or count(*)
        columns = _columns(star, scope)
        if call is None or (star.arg_key != "expressions" and "expressions" not in call.arg_types and len(columns) > 1):
            raise refusal(star, f"* stands for {len(columns)} columns here", "name the column that is meant")
        if star.arg_key == "expressions":
            star.replace(columns)
        else:
            call.set("expressions", [*columns[1:], *call.expressions])
            star.replace(columns[0])
    return item


def _columns(star: exp.Expr, scope: Scope) -> list[exp.Expr]:
    """The columns that a star stands for."""
    if _modified(star.this if isinstance(star, exp.Column) else star):
        raise refusal(star, "* with EXCEPT or REPLACE is not supported", "list the columns")
    wanted = star.table.lower() if isinstance(star, exp.Column) else None
    chosen = [source for source in scope.items if wanted in (None, source.name)]
    if not chosen:
        raise unknown("stream, table or alias", str(wanted), [source.name for source in scope.items], where=place(star))
    for source in chosen:
        if source.fields is None:
            hint = "list the columns, or give the stream a schema"
            raise refusal(star, f"* cannot be written out: the columns of '{source.name}' are not declared", hint)
    return [_reference(source, field.name, star) for source in chosen for field in source.fields or ()]


def _modified(star: exp.Expr) -> bool:
    return any(star.args.values())


def _reference(item: FromItem, name: str, star: exp.Expr) -> exp.Expr:
    column = exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(item.name, quoted=True))
    column.this.meta.update(star.meta)
    return column
