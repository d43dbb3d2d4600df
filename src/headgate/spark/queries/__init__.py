"""What tasks know about one query: its positions, how it is cut, and which tuples it still needs.

Read `running_query` first (a query at its resume point), then `layout` (how a query is cut into fragments),
`fragment_logs` (the rows that wait between two fragments), `resume` and `retention`.
"""
