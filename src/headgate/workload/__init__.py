"""Workloads: one TOML format for the simulator and for the engine."""

from headgate.workload.reader import parse_workload, read_workload
from headgate.workload.workload import Change, Workload

__all__ = ["Change", "Workload", "parse_workload", "read_workload"]
