"""One Spark job for the runs of many queries of one form."""

from headgate.spark.compile.fused.group import Fused, Member, fused

__all__ = ["Fused", "Member", "fused"]
