"""How a client differs from a session: each difference with its reason. `docs/client.md` has the same table.

A difference that is no longer one fails a test.
"""

from __future__ import annotations

WORDS = {
    "add_queries": "a request starts one query; a server keeps count of its users' queries one by one",
    "add_query": "takes an object of the model, which has no form on the wire; `query` takes the same as text",
    "add_stream": "takes an object of the model, which has no form on the wire; `stream` takes the same as text",
    "begin": "the server begins by itself",
    "plan": "the tree of operators has no form on the wire; `dry_run` tells what a query becomes",
    "report": "it needs every recent result, which stay on the server; `status` has the numbers",
    "warm": "the server warms Spark up when it starts",
}  # of `Session` that `Client` lacks

PARAMETERS = {
    "query.callback": "a function cannot run on the server; follow `results`",
    "close.timeout": "closing a client ends no engine, so there is nothing to wait for",
    "results.buffer": "the server keeps results on disk for a slow reader, who misses nothing",
}  # of words of `Session` and `Handle` that the client's lack

BEHAVIOURS = {
    "test_closing_ends_the_engine": "others use it: a client leaves, and the queries go on",
    "test_a_row_that_is_no_json_is_a_dead_letter_with_its_own_words": "a value that JSON lacks is sent as its text, "
    "and the dead letter has that",
    "test_a_source_may_be_an_iterable": "only what the server can open itself is read there; push rows with `append`",
    "test_a_policy_of_a_file": "over the network only registered policies: a file would run as the server",
}  # names of tests of the behaviour suite that a client fails
