"""The report of a run: every measure, for the whole run, for each class and for each query."""
