"""A sweep: one workload simulated under several policies over ranges of settings and seeds.

`varied_settings` reads what is varied, `plan` lists every simulation, `spark_tasks` runs them as one `spark_job`,
`finished_results` keeps results on disk, `result_table` writes them as Parquet, `curves` draws them.
"""
