"""Stars: `SELECT *`, `t.*` and `struct(*)` written out, column by column.

A star must not reach Spark: there it would also stand for the columns that Headgate adds, such as when a tuple came.
"""

from __future__ import annotations

from sqlglot import exp

from headgate.model import unknown
from headgate.plan.sql.functions import takes
from headgate.plan.sql.normal import quoted
from headgate.plan.sql.parse import expression, place, refusal
from headgate.plan.sql.scope import Scope
from headgate.plan.sql.words import is_star, put, raw, written


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
        if is_star(item):
            items += [expression(column) for column in _columns(item, scope)]
        else:
            items.append(_with_columns_in_calls(item, scope))
    copy.set("expressions", items)
    return copy


def _with_columns_in_calls(item: exp.Expr, scope: Scope) -> exp.Expr:
    stars = [node for node in item.find_all(exp.Star, exp.Column) if is_star(node)]
    stars = [star for star in stars if not isinstance(star.parent, exp.Column) and not _is_counted(star)]
    for star in stars:
        columns = _columns(star, scope)
        if not _takes(star, len(columns)):
            raise refusal(star, f"* stands for {len(columns)} columns here", "name the column that is meant")
        put(star, raw(", ".join(columns)))
    if not stars:
        return item.copy()
    told = expression(written(item.unalias()))
    return exp.Alias(this=told, alias=item.args["alias"].copy()) if isinstance(item, exp.Alias) else told


def _takes(star: exp.Expr, count: int) -> bool:
    """Whether so many columns may stand in the place of a star."""
    around = star.parent.parent if isinstance(star.parent, exp.Distinct) else star.parent
    others = len(around.expressions) - 1 if isinstance(around, exp.Anonymous) else 0
    return count == 1 or (isinstance(around, exp.Anonymous) and takes(around.name.lower(), others + count))


def _is_counted(star: exp.Expr) -> bool:
    """Whether it is that of `count(*)`, which stands for no column."""
    call = star.parent
    return isinstance(star, exp.Star) and isinstance(call, exp.Anonymous) and call.name.lower() == "count"


def _columns(star: exp.Expr, scope: Scope) -> list[str]:
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
    return [f"{quoted(source.name)}.{quoted(field.name)}" for source in chosen for field in source.fields or ()]


def _modified(star: exp.Expr) -> bool:
    return any(star.args.values())
