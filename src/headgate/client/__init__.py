"""The Python client of a server, with the words of `headgate.Session`. It needs no Spark."""
