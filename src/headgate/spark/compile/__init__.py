"""From a SQL plan and the offsets of a run to one Spark job. It writes no logs, and decides nothing about scheduling.

The way of a query through this package:

    prepared_query   checks a plan with Spark once (`prepare_query`), then runs it as often as it is asked to
    admission/       refuses what Spark's analysed plan must not contain
    read_sets        which offsets and event times a run must read, which windows close
    log_reader       reads those rows from the logs, or leaves sealed files to the executors
    frames           builds the DataFrame of the run from the rows and the plan
    row_isolation    the same, so that an expression that fails on a row fails for that row alone
    fragments        cuts a plan into fragments that run on their own
    fused/           one job for many queries that differ only in predicates, functions and outputs
"""
