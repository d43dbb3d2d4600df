"""The commit log: one record for each run of a query, with its new offsets and its results."""
