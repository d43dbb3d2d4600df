"""The engine's state machine: messages in; tasks, replies and journal lines out.

Pure: nothing here reads a clock, starts a thread, opens a file or knows Spark.
"""
