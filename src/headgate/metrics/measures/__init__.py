"""One module per family of measures: what is computed from records, and the published definition it follows.

To add a measure, write a module here, a field of `report.run_report.Report` and a name in `report.measure_names`.
"""
