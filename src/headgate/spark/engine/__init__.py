"""The engine: the thread that owns the state machine, and the threads that carry out its tasks.

`machine` decides, `owner` passes it messages one by one, `execution` carries out the tasks that it submits.
"""
