"""From SQL or operators to plans, the network of all queries, and the units that policies choose between.

Read in this order: `sql` (SQL to plans), `places`, `network` with `shared_operators` (all queries as one graph),
`segments` and `units` with `unit_draft` (what policies choose between), `fusion` with `fusion_template` (queries that
share a Spark job), `explain`.
"""
