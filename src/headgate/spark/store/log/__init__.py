"""One stream's log: append-only, durable, read by offset."""
