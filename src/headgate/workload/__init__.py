"""Workloads: one TOML format for the simulator and for the engine."""

from headgate.workload.reader import parse_workload, read_workload
from headgate.workload.workload import Change, LoadBy, LoadOf, Workload

__all__ = ["Change", "LoadBy", "LoadOf", "Workload", "parse_workload", "read_workload"]
