"""One Spark job for the runs of many queries that differ only in predicates, aggregate functions and outputs.

Which queries can share a job is decided in `headgate.plan.fusion_template`: it takes a plan apart into a core (a
stream, an aggregate or a join), the predicates below and above it, and the outputs. Queries whose templates have an
equal `form` are a group. Here each kind of core has a *form*, a class that runs such a group as one job:

    filters      filters and projections of one stream
    aggregates   aggregates with equal window and keys
    joins        window joins with equal streams, keys and bounds

All of them read the rows that any member needs once, tag each row with the members that want it (`tags`), and give each
member its own rows of the result.

To add a form, write a module in this package with a class that offers what the protocol `registry.FusedJob` asks for,
and register it for the class of its core:

    @register(TableJoin)
    @dataclass(frozen=True, slots=True)
    class FusedTableJoins:
        @classmethod
        def of(cls, catalog, members): ...                   # compile the group, once
        def run(self, leaves, logs): ...                     # one job: a table for each member
        def run_isolating(self, leaves, logs): ...           # the same, and what failed for each member
        def write(self, leaves, logs, aside): return None    # large trains: None if each member runs on its own

All modules of this package are imported when the first group is compiled, so nothing else here must be changed. If no
template has this core yet, let `headgate.plan.fusion_template.template` give one.
"""

from headgate.spark.compile.fused.registry import FusedJob, Member, MemberResult, fuse, register

__all__ = ["FusedJob", "Member", "MemberResult", "fuse", "register"]
