"""The driver of a test in which the master of a cluster is replaced: rows go on coming, and what status says is noted.

    python -m tests.spark.cluster.lost_master spark://127.0.0.1:7077 DIRECTORY CLOSE

With CLOSE "True" it closes the session as soon as there is no executor, with "False" once all rows have results.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from headgate.spark.session import Session

PATIENCE = 200.0  # seconds


def main() -> None:
    master, directory, close = sys.argv[1:]
    session = Session(master=master, directory=Path(directory))
    session.stream("s", "id bigint")
    query = session.query("q", "SELECT id FROM s")
    notes: set[str] = set()
    errors: set[str] = set()
    rows, limit = 0, time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        session.append("s", [{"id": rows}])
        rows += 1
        if rows == 5:
            query.wait(rows=1, timeout=PATIENCE)
            print("running", flush=True)
        time.sleep(0.5)
        status = session.status()
        notes.add(status.spark_note)
        errors.add(status.spark_error)
        if any("no executor" in note for note in notes) and close == "True":
            break
        if any(errors) and query.read().num_rows >= rows - 1:
            break
    found: dict[str, Any] = {"notes": sorted(notes), "errors": sorted(errors)}
    if close == "False":
        session.drain(PATIENCE)
        status = session.status()
        found |= {
            "state": [status.queries[0].state, status.queries[0].error],
            "ids": sorted(query.read()["id"].to_pylist()),
            "rows": rows,
        }
    began = time.monotonic()
    session.close()
    print(json.dumps(found | {"seconds to close": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main()
