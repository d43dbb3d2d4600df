"""What a query may contain once Spark has analysed it: allowed plan nodes, bounded constants and patterns.

There are two lists, and nothing else in code says which functions are accepted:

    plan/sql/functions.toml   names of functions, accepted or refused with a reason: gives users a clear message
    allowed.toml              classes of Spark's analysed plan: what is not on it is refused, whatever its name in SQL

To accept a function, for example one that is new in a version of Spark:

1. Make sure that its value depends on its arguments alone; an aggregate's not on the order of rows.
2. Put its name under [accepted] or [aggregates] of `functions.toml`, and take it out of [refused] if it is there.
3. Put a call of it over the test's columns into `tests/spark/compile/fixtures/functions.txt`.
4. Run `tests/spark/compile/test_functions.py`. It compares the call with a batch of Spark. Where it is refused, the
   message names the Spark class that is not allowed yet: put that into `allowed.toml`.
5. If an argument is a regular expression, or says how long the value becomes, say so in `allowed.toml` as well.

The modules: `allowed_nodes` walks the plan and compares it with the list (`lists` reads the file), `constants` checks
constant arguments, `growth` what grows with the square or a power of an array's length, `regular_expressions` finds
patterns that could take exponential time.
"""
