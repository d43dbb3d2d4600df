"""The engine's state machine: messages in; tasks, replies and journal entries out.

Pure: nothing here reads a clock, starts a thread, opens a file or calls Spark.

How a message becomes tasks and replies: the owner thread (`engine.owner`) passes each message with the current time to
`Machine.handle`, which calls the handler for its type. The handler changes the state of queries (`Life`) and, for work
that takes time, submits a task with a function to call once the task's `Answer` message comes back. Then due timers
fire, free workers get runs from the scheduler, and waiting callers are answered. `handle` returns the collected tasks,
replies and state transitions; the owner hands each task to a lane of threads, and those to `execution`.

Read in this order: `messages` and `tasks` (the vocabulary), `lifecycle` (the states of a query), `context` (what all
handlers share), `machine`; then a query's way: `commands`, `preparation`, `scheduling`, `runs` with `active_run` and
`delivery` with `outbox`; last what happens beside it: `window_clocks`, `backpressure` with `lag`,
`policy_changes`, `repositioning`, `maintenance`, `spark_restart`, `views`, `warming`, `shutdown`.
"""
