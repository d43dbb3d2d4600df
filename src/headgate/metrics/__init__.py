"""Measures of runs: response time, slowdown, QoS, queues, throughput, inversion, starvation."""

from headgate.metrics.records.run_records import QueryRecords, QueueSeries, Records
from headgate.metrics.report.measure_names import MEASURES, smaller_is_better
from headgate.metrics.report.run_report import Report, measure

__all__ = ["MEASURES", "QueryRecords", "QueueSeries", "Records", "Report", "measure", "smaller_is_better"]
