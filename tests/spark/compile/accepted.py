"""Which SQL is accepted: the list of queries that the tests execute and that the documentation shows.

Accepted queries (`fixtures/accepted.sql`) are planned, checked by Spark's analyser, run on the rows below, and compared
with the same SQL as one batch; refused ones (`fixtures/refused.sql`) must give exactly the sentence beside them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from headgate.model import Stream, Table

STREAMS = {
    stream.name: stream
    for stream in (
        Stream(
            name="sensors",
            schema=(("id", "bigint"), ("room", "string"), ("temp", "double"), ("ts", "timestamp")),
            event_time="ts",
        ),
        Stream(name="alarms", schema=(("id", "bigint"), ("level", "int"), ("ts", "timestamp")), event_time="ts"),
        Stream(name="notes", schema=(("id", "bigint"), ("text", "string"), ("ts", "timestamp")), event_time="ts"),
        Stream(name="events", schema=(("body", "string"), ("tags", "array<string>"), ("ts", "timestamp"))),
    )
}
TABLES = {"rooms": Table(name="rooms", schema=(("code", "string"), ("name", "string"), ("floor", "int")))}

FIXTURES = Path(__file__).parent / "fixtures"
SECOND = 1_000_000
ROWS: dict[str, list[tuple[Any, ...]]] = {  # event times in microseconds
    "sensors": [
        (1, "kitchen", 20.0, 1 * SECOND),
        (2, "hall", 95.5, 2 * SECOND),
        (1, "kitchen", 91.0, 4 * SECOND),
        (3, None, 15.0, 9 * SECOND),
        (1, "kitchen", 92.0, 11 * SECOND),
        (2, "hall", 95.5, 14 * SECOND),
        (2, "hall", 30.0, 23 * SECOND),
        (4, "attic", 99.0, 31 * SECOND),
    ],
    "alarms": [(2, 3, 3 * SECOND), (1, 1, 5 * SECOND), (1, 2, 12 * SECOND), (7, 2, 13 * SECOND), (2, 1, 40 * SECOND)],
    "notes": [(2, "seen", 4 * SECOND), (1, "again", 13 * SECOND), (9, "else", 30 * SECOND)],
    "events": [
        ('{"user": "ann", "n": 3}', ["new", "red"], 1 * SECOND),
        ("{}", [], 2 * SECOND),
        ('{"user": "bob", "n": 4}', ["nice", None], 3 * SECOND),
    ],
}
ROOMS = {"code": ["kitchen", "hall", "cellar"], "name": ["Kitchen", "Hall", "Cellar"], "floor": [0, 0, -1]}


class Case(NamedTuple):
    """A query under a topic; `other` is the message of a refusal, or the SQL of a Spark batch if that must differ."""

    topic: str
    what: str
    sql: str
    other: str = ""


def cases(name: str) -> list[Case]:
    """The cases of a fixture: `# topic`, then blocks of `-- what`, the SQL, and below `---` the other text."""
    parsed: list[Case] = []
    for section in (FIXTURES / f"{name}.sql").read_text("utf-8").removeprefix("# ").split("\n# "):
        topic, *blocks = section.split("\n-- ")
        for block in blocks:
            what, _, text = block.partition("\n")
            sql, _, other = (" ".join(part.split()) for part in text.partition("\n---\n"))
            parsed.append(Case(topic.strip(), what, sql, other))
    return parsed
