"""How everything is doing, cheap enough to be asked several times a second, also with a thousand queries.

`snapshots` looks at the engine at most some times a second, for all who ask; `numbers` makes plain values of that. The
list of queries, the status, the events and the metrics share them; `workspace.status` has what one tenant sees.
"""
