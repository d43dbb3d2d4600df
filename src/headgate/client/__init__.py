"""The Python client of a server, with the words of `headgate.Session`. It needs no Spark.

address.py      which server, and with which token: arguments, environment, profile file
connection.py   requests over HTTP: repeated where that is safe, errors as `HeadgateError`
following.py    server-sent events, resumed after a broken connection
rows.py         rows as the bodies of requests, and results as Arrow
records.py      answers whose fields are attributes
client.py       `Client`;  handle.py: `Handle`, one query
"""

from headgate.client.client import Client, client_on
from headgate.client.handle import Handle

__all__ = ["Client", "Handle", "client_on"]
