"""What a scheduler and its driver have done lately: decisions, runs, arrivals, deliveries.

The engine keeps the last ten minutes of it in its data directory (`ring`), without being asked for; a trace of the
simulator is turned into the same records (`from_trace`). `insight` and `what_if` read only these records, so that they
treat both alike.
"""
