"""Panes: what window aggregates keep of rows that they have read, so that each row is read once and not once a window.

A pane is a stretch of event time that every window holds as a whole or not at all: for windows of 10 s that slide by
4 s it is 2 s long, the greatest common divisor. For each pane, and within it for each key, there are *partial*
aggregates, made by a Spark job from the rows of a train when the train comes. When a window closes, those of its panes
are merged.

    functions         SQL aggregates as partial aggregates, and what becomes of these in the end
    merging           partial aggregates of several panes as one
    pane_tree         the panes, and merged panes of 2, 4, 8, …: a window is a few of these
    pane_set          the panes of a log's rows: which offsets are folded in, and what is missing
    pane_sets         all of them, within a budget of memory, shared by queries that need the same
    paned_aggregates  the windows that close for the queries of a group

Panes are a cache. They are never committed: whatever is missing is made again of the log, and where they do not do, the
windows are computed from the log as if there were none (decision 0035).
"""
