"""How tuples come in: stream logs and their dead letters, the thread that reads sources, and dead-letter replay."""
