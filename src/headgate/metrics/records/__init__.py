"""What a driver records of a run: results by query and class, and the length of the queues over time."""
