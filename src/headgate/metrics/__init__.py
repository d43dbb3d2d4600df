"""Measures of runs: response time, slowdown, QoS, queues, throughput, inversion, starvation."""

from headgate.metrics.records.run_records import QueryRecords, QueueSeries, Records
from headgate.metrics.report.measure_names import MEASURES, Measure, measure_at, smaller_is_better
from headgate.metrics.report.run_report import Report, measure

__all__ = [
    "MEASURES",
    "Measure",
    "QueryRecords",
    "QueueSeries",
    "Records",
    "Report",
    "measure",
    "measure_at",
    "smaller_is_better",
]
