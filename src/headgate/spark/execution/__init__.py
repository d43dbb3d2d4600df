"""Carrying out the tasks of the state machine: Spark jobs, commits, deliveries. Nothing here changes its state.

Read `performer` first, which has the function for each kind of task; then an `Evaluate` task's way through `evaluator`,
`query_run` (one query's part of a run), `fused_jobs` (several of them as one Spark job) and `job_runner` (a Spark job
with a time limit), and on to `committer` and `open_sinks`. `refragmenter` with `cutting` cuts and joins queries;
`recovery` completes at the start what was committed before a crash; `warm_up` with `made_up_rows` runs the jobs of
queries before there is anything to read.
"""
