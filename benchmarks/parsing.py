"""How fast pushed bytes become rows: JSON lines at once and line by line, CSV, and Arrow streams.

    python benchmarks/parsing.py --rows 200000

Needs no running Spark. Times are the best of three; a share of bad lines shows what they cost the others.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from unittest.mock import patch

import pyarrow as pa

from headgate.model import Stream
from headgate.spark.ingest.parsing import pushed
from headgate.spark.ingest.parsing.records import conform

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.float64()), ("name", pa.string()), ("ts", pa.timestamp("us", "UTC"))])
STREAM = Stream(name="s", schema=(("id", "bigint"), ("v", "double"), ("name", "string"), ("ts", "timestamp")))


def line(number: int) -> bytes:
    at = f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    return json.dumps({"id": number, "v": number / 7, "name": f"sensor {number % 100}", "ts": at}).encode()


def best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    count = parser.parse_args().rows
    lines = [line(number) for number in range(count)]
    table, _ = pushed.json_lines(b"\n".join(lines), SCHEMA)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        writer.write_table(table)
    arrow = bytes(sink.getvalue())
    text = "id,v,name,ts\n" + "".join(
        f"{row['id']},{row['v']},{row['name']},{row['ts'].isoformat()}\n" for row in table.to_pylist()
    )

    def with_bad(every: int) -> bytes:
        return b"\n".join(b"{" if number % every == every // 2 else each for number, each in enumerate(lines))

    with patch.object(pushed, "schema_of", lambda stream: SCHEMA):  # parsed by Spark, and kept by a session
        ways: dict[str, Callable[[], object]] = {
            "JSON lines, line by line": lambda: pushed.json_lines_one_by_one(lines, SCHEMA),
            "JSON lines": lambda: pushed.json_lines_bytes(b"\n".join(lines), STREAM),
            "JSON lines, one in 100,000 bad": lambda: pushed.json_lines_bytes(with_bad(100_000), STREAM),
            "JSON lines, one in 1,000 bad": lambda: pushed.json_lines_bytes(with_bad(1_000), STREAM),
            "CSV": lambda: pushed.csv_bytes(text.encode(), STREAM),
            "Arrow stream": lambda: pushed.arrow_stream_bytes(arrow, STREAM),
            "Arrow table, conformed only": lambda: conform(table, SCHEMA),
        }
        for name, way in ways.items():
            print(f"{name:32} {count / best(way):14,.0f} rows/s")


if __name__ == "__main__":
    main()
