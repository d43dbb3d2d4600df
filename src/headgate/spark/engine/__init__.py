"""The engine: a pure state machine owned by one thread, and the threads that carry out what it asks for.

`machine` decides, `owner` feeds it messages one by one, `execution` does the work that it hands out.
"""
