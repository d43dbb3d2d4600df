"""What figure 4.15 and table 4.5 share: 1000 paths of ten boxes."""

from __future__ import annotations

POLICIES = {
    "bucketing": "bucketing, push=true, partitions=7, schedule=300",
    "fixed": "fixed-priority, order=sorted, push=true, schedule=300",
    "slope-slack": "slope-slack, order=sorted, push=true, schedule=300",
}
