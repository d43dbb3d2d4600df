"""Scheduling policies: one contract, one file per policy, in families."""
