"""A session with queries that harm others, and one that must go on; prints what was seen as JSON.

    python -m tests.spark.jvm.harmful (memory | cores) DIRECTORY

Both scenes depend on what is in the rows, so that no query is refused.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from headgate.spark.session import Handle, Session

PATIENCE = 150.0  # seconds
# Of 2,000 letters: each of them becomes 2,000 copies of all.
_MANY = "transform(split(text, ''), {} -> {})"
BOMB = f"SELECT size({_MANY.format('x', _MANY.format('y', 'concat(x, text)'))}) AS n FROM s"
SLOW = "size(array_distinct(transform(split(text, ''), x -> array(x, '{}')))) AS n{}"


def go_on(session: Session, query: Handle, until: Any) -> int:
    """Append row after row until something is so; how many."""
    rows, limit = 1, time.monotonic() + PATIENCE
    while time.monotonic() < limit and not until():
        session.append("t", [{"id": rows}])
        rows += 1
        time.sleep(0.5)
    session.append("t", [{"id": rows}])
    query.wait(rows=rows + 1, timeout=PATIENCE)
    return rows + 1


def memory(session: Session, query: Handle) -> dict[str, Any]:
    """A query that makes gigabytes of one row."""
    bomb = session.query("bomb", BOMB)
    session.append("s", [{"text": "x" * 2_000}])
    deaths, away = 0, False

    def over() -> bool:
        nonlocal deaths, away
        status = session.status()
        deaths += bool(status.spark_error) and not away
        away = bool(status.spark_error)
        return bomb.status.state == "suspended" and "died" in bomb.status.error and not away

    rows = go_on(session, query, lambda: over() and "times while" in bomb.status.error)
    return {"deaths": deaths, "state": bomb.status.state, "error": bomb.status.error, "rows": rows}


def cores(session: Session, query: Handle) -> dict[str, Any]:
    """Two queries that compare the elements of a long array, stopped while they do."""
    notes, errors = set(), set()
    columns = ", ".join(SLOW.format(number, number) for number in range(100))
    for name in ("one", "two"):
        held = session.query(name, f"SELECT {columns} FROM s")
        session.append("s", [{"text": "".join(map(chr, range(256, 50_256)))}])
        time.sleep(8.0)
        held.stop()

    def over() -> bool:
        status = session.status()
        notes.add(status.spark_note)
        errors.add(status.spark_error)
        return len(errors) > 1 and not status.spark_error

    rows = go_on(session, query, over)
    return {"notes": sorted(notes), "errors": sorted(errors), "rows": rows}


def main() -> None:
    scene, directory = sys.argv[1:]
    os.environ["SPARK_DRIVER_MEMORY"] = "1g"
    with Session(master="local[2]", directory=directory) as session:
        session.stream("s", "text string")
        session.stream("t", "id bigint")
        query = session.query("good", "SELECT id FROM t")
        session.append("t", [{"id": 0}])
        query.wait(rows=1, timeout=PATIENCE)
        found = {"memory": memory, "cores": cores}[scene](session, query)
        found["ids"] = sorted(query.read()["id"].to_pylist())
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
