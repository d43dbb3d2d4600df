"""Policies that know classes of queries and their priorities, and the baselines they were compared with."""
