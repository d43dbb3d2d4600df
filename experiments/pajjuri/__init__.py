"""Pajjuri 2004 (MavStream): scheduling paths and segments."""

from headgate.reproduction import Document

DOCUMENT = Document(
    "pajjuri",
    "Pajjuri 2004 (MavStream)",
    "Of the query it is known that it has six operators on two paths and windows of 1000 or 2000 tuples. Kinds, "
    "costs and selectivities are chosen (`workloads/mavstream.toml`). Calibrated on figure 6.6: throughput deviates "
    "as much at 100 tuples a second as at 900, so the query is overloaded at all rates. The time quantum is not "
    "printed either: 100 ms, several tuples of the dearest operator.",
)
