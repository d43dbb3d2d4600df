"""SQL to operators: parse, refuse what cannot run continuously, plan in a canonical form."""

from headgate.plan.sql.query import plan_sql

__all__ = ["plan_sql"]
