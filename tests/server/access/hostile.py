# ruff: noqa: E501 - lists of inputs are read across
"""Hostile inputs: each a method, a path, a body and its type, and the statuses with which it may be answered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

JSON, LINES, CSV = "application/json", "application/x-ndjson", "text/csv"
ARROW = "application/vnd.apache.arrow.stream"
REFUSED = range(400, 500)
ANY = range(200, 500)  # may be harmless, as long as nothing happens that should not


@dataclass(frozen=True)
class Hostile:
    method: str
    path: str
    body: bytes | None = None
    kind: str = JSON
    statuses: range = REFUSED

    def __str__(self) -> str:
        return f"{self.method} {self.path[:60]!r} {(self.body or b'')[:40]!r}…{(self.body or b'')[-40:]!r}"


SQL = """
DROP TABLE target | SELECT id FROM target; DROP TABLE target | SELECT id FROM target; SELECT id FROM target
CREATE TABLE {canary} (id INT) | CREATE TABLE x USING parquet LOCATION '{canary}' AS SELECT 1 AS id
INSERT OVERWRITE DIRECTORY '{canary}' USING csv SELECT 1 | INSERT INTO target VALUES (1) | TRUNCATE TABLE target
SELECT * FROM csv.`/etc/passwd` | SELECT * FROM text.`file:///etc/passwd` | SELECT * FROM parquet.`{canary}`
SELECT * FROM read_files('/etc/passwd') | SELECT * FROM jdbc.`x` | SELECT * FROM information_schema.tables
SELECT java_method('java.lang.System', 'setProperty', 'headgate.hacked', '1') FROM target
SELECT reflect('java.lang.System', 'setProperty', 'headgate.hacked', '1') FROM target
SELECT try_reflect('java.lang.Runtime', 'getRuntime') FROM target | SELECT input_file_name() FROM target
SELECT TRANSFORM (id) USING 'touch {canary}' AS x FROM target | ADD JAR '/tmp/x.jar' | LIST FILES
SET spark.sql.shuffle.partitions = 1 | SET ROLE admin | RESET | USE default | SHOW TABLES | DESCRIBE target | EXPLAIN SELECT 1
CREATE FUNCTION f AS 'x' USING JAR '/tmp/x.jar' | CACHE TABLE target | REFRESH TABLE target | ANALYZE TABLE target COMPUTE STATISTICS
LOAD DATA INPATH '/etc/passwd' INTO TABLE target | MERGE INTO target USING target ON true WHEN MATCHED THEN DELETE
DELETE FROM target | UPDATE target SET id = 1 | ALTER TABLE target RENAME TO x | GRANT ALL ON target TO x | VACUUM target
SELECT * FROM range(1000000000000) | SELECT explode(sequence(1, 1000000000)) FROM target | SELECT * FROM target, target, target
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r | VALUES (1) | TABLE target
SELECT (SELECT max(id) FROM target) FROM target | SELECT id FROM target WHERE id IN (SELECT id FROM target)
SELECT secret('x') FROM target | SELECT current_user() FROM target | SELECT version() FROM target | SELECT uuid() FROM target
SELECT from_avro(id) FROM target | SELECT python_udf(id) FROM target | SELECT id FROM `../../etc/passwd` | SELECT id FROM target@v1
SELECT id FROM target VERSION AS OF 1 | SELECT id FROM STREAM target | SELECT ${{spark.app.name}} FROM target | SELECT :x FROM target
SELECT id FROM target WHERE | SELECT | ; | -- | /* | ' | \\ | SELECT 'x FROM target | BEGIN SELECT 1; END | EXECUTE IMMEDIATE 'SELECT 1'
SELECT id FROM other..target | SELECT id FROM `other..target` | SELECT id FROM target.target.target.target | CALL system.run()
"""
NAMES: list[Any] = [
    "../../etc/passwd", "..", ".", "", " ", "a/b", "a\\b", "a\0b", "\x1b[31mred", "a\nb", "a..b", "x" * 101, "ä" * 90, "‮drow",
    "a; DROP", "a,b=c", "`a`", "'a'", '"a"', "%2e%2e%2f", "a b  c", "-a", "\ud800", "😀", "a\tb", 5, None, True, [], {}, ["a"],
    1e308,
]  # fmt: skip
TIMES: list[Any] = ["-1 s", "nan s", "x", -1, 1e308 * 10, [], "9" * 5000, "1 parsec"]
PRIORITIES: list[Any] = [0, -1, "x", None, [], 1e308 * 10, -1e308 * 10, float("nan"), "1e999", {"a": 1}]
FIELDS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/streams", {"name": "h", "schema": schema})
    for schema in ("", ",", "id", "id bigint,", "id bigint, id bigint, ID int", "id nothing", "id struct<a:int>>", "a b c d", "id bigint; x",
                   "x " + "array<" * 3000 + "int" + ">" * 3000, "id bigint " * 50, ",".join(f"c{n} int" for n in range(200_000)), "\0 int", 5, None,
                   [["id"]], "_offset bigint", "`; DROP int", "id decimal(99999, 3)", "id char(-1)")
] + [
    ("/v1/streams", {"name": "h", "schema": "id bigint, ts timestamp", "event_time": "ts", field: value})
    for field in ("watermark", "ahead")
    for value in TIMES
] + [
    ("/v1/streams", {"name": "h", "schema": "id bigint", "source": source})
    for source in ("directory, path=/etc", "socket, port=22", "poisson, rate=1, file=/etc/passwd", "trace, file=/etc/passwd", "./x.py", "iterator",
                   "kafka, servers=x", "directory, path=" + "../" * 40 + "etc", "", ",", "poisson, rate=-1", "poisson, rate=" + "9" * 5000, "[" * 2000)
] + [
    ("/v1/classes", {"name": "h", "priority": priority})
    for priority in PRIORITIES
] + [
    ("/v1/queries", {"name": "h", "sql": "SELECT id FROM target", **more})
    for more in ({"class": "nobody"}, {"class": "../x"}, {"sink": "table, name=x"}, {"sink": "callback"}, {"sink": "file:///etc/x"},
                 {"sink": "parquet, path=/etc"}, {"sink": "memory, rows=-1"}, {"target": "soon"}, {"target": -1}, {"target": [1]},
                 {"qos": [[0, 1e308 * 10]]}, {"qos": [[1]]}, {"qos": [[0, 1, 2]]}, {"qos": "x"}, {"qos": [[5, 1], [1, 1]]},
                 {"qos": [[n, 1] for n in range(20000)] + [[0, 0]]}, {"since": "tomorrow"}, {"once": "maybe"}, {"start": -1}, {"start": 1e308 * 10},
                 {"end": -5}, {"end": "never"}, {"lag": "skip"}, {"lag": "skip, tuples=-1"}, {"unknown": 1}, {"policy": "./x.py:X"})
] + [
    ("/v1/queries/nothing/move", {"class": "x"}), ("/v1/queries/nothing/replace", {"sql": "DROP TABLE target"}),
    ("/v1/login", {"token": "x" * 100000}), ("/v1/login", {"token": None}), ("/v1/login", {"token": "' OR 1=1 --"}),
]  # fmt: skip
TEXTS = [
    b"[" * 100000, b'{"name":' * 50000, b"{" + b'"a":[' * 20000, b"", b"null", b"[]", b'"x"', b"5", b"NaN", b"{} {}", b"{'a': 1}", b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf{}", b'{"name": "\xff"}', b'{"name": "\\ud800", "schema": "id bigint"}', b'{"name": ' + b"9" * 10000 + b"}", b'{"name": 1e999}',
    b'{"name": "a", "name": "../b", "schema": "id"}', b"\x00" * 100, b"\x1f\x8b\x08\x00", b'{"a": "\x01"}', b'{"__proto__": {}}',
    b'{"name": "x", "schema": "id bigint"', b"--boundary\r\n", b"<xml/>",
]  # fmt: skip
PATHS = [
    ("GET", "/v1/streams/%2e%2e%2f%2e%2e%2fetc%2fpasswd"), ("GET", "/v1/streams/%00"), ("GET", "/v1/streams/%ff%fe"), ("GET", "/v1//streams"),
    ("GET", "/v1/../../etc/passwd"), ("GET", "//etc/passwd"), ("GET", "/v1/streams/" + "x" * 3000), ("GET", "/v1/queries/%0d%0aSet-Cookie:%20a=b"),
    ("GET", "/v1/streams/target/sample?limit=-1"), ("GET", "/v1/streams/target/sample?limit=99999999999999999999"),
    ("GET", "/v1/streams/target/sample?limit=x"), ("GET", "/v1/streams/target/sample?limit=1e3"), ("DELETE", "/v1/health/live"), ("PUT", "/v1/queries"),
    ("TRACE", "/v1/status"), ("CONNECT", "/v1/status"), ("PATCH", "/v1/status"), ("BREW", "/v1/status"), ("OPTIONS", "/v1/status"), ("HEAD", "/v1/x"),
    ("GET", "/docs"), ("GET", "/openapi.json"), ("GET", "/.env"), ("GET", "/v1/queries/a%2fb/results"), ("POST", "/v1/streams/nothing/finish"),
    ("GET", "/v1/queries/x/results?cursor=AAAA"), ("GET", "/v1/queries/x/results?cursor=%00"), ("DELETE", "/v1/queries/%2e%2e"),
    ("POST", "/v1/queries/../pause"), ("GET", "/v1/classes/%F0%9F%98%80"), ("GET", "/v1/classes/%E2%80%AE"),
]  # fmt: skip
LINE_BODIES = [
    (LINES, b'{"id":' * 5000), (LINES, b"[" * 100000), (LINES, b'{"id": ' + b"9" * 5000 + b"}"), (LINES, b'{"id": 1e999}'), (LINES, b"\xff\xfe"),
    (LINES, b"\x00" * 1000), (LINES, b'{"id": "' + b"x" * 3_000_000 + b'"}'), (LINES, b'{"id": NaN}'), (LINES, b'{"id": "\\ud800"}'), (LINES, b"null\n[]\n5"),
    (LINES, b'{"_offset": 5, "id": 1}'), (LINES, b'{"id": 1' + b', "x": 1' * 50000 + b"}"), (CSV, b""), (CSV, b"id\n" + b'"' * 1001), (CSV, b"id,id\n1,2\n"),
    (CSV, b"x\n1\n"), (CSV, b"\xff\xfe\n1"), (CSV, b"id\n=cmd|' /C calc'!A0\n"), (CSV, b"\x00,\x00"), (CSV, b"id\n" + b"9" * 100000), (CSV, b"," * 100000 + b"\n"),
    ("text/html", b"<b>"), ("", b"x"), ("application/json", b'{"id": 1}'), ("multipart/form-data", b"x"), ("text/csv; charset=utf-16", b"\xff\xfei\x00"),
]  # fmt: skip


def arrow_bodies() -> list[bytes]:
    """Arrow streams that lie about themselves: cut off, with lengths, offsets and counts that are not true."""
    good = _stream(pa.table({"id": pa.array(range(100), pa.int64())}))
    texts = _stream(pa.table({"id": ["abc"] * 50}))
    lying = [
        good[:-20],
        good[: len(good) // 2],
        good[:8],
        good[8:],
        b"ARROW1\0\0" + good,
        good * 2,
        b"",
        b"\xff\xff\xff\xff",
    ]
    lying += [
        b"\xff\xff\xff\xff\xff\xff\xff\x7f" + good[8:],
        b"\xff\xff\xff\xff\x00\x00\x00\x80" + good[8:],
        b"x" * 1000,
    ]
    lying += [_flipped(good, place) for place in range(8, len(good), max(1, len(good) // 30))]
    lying += [_flipped(texts, place) for place in range(8, len(texts), max(1, len(texts) // 30))]
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 2**31 - 1, 5)))
    wild = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"hello")])
    negative = pa.py_buffer(b"".join(n.to_bytes(4, "little", signed=True) for n in (0, -5, 3)))
    below = pa.Array.from_buffers(pa.string(), 2, [None, negative, pa.py_buffer(b"hello")])
    indices = pa.DictionaryArray.from_arrays(pa.array([0, 99], pa.int8()), pa.array(["a"]), safe=False)
    for array in (wild, below, indices):
        lying.append(_stream(pa.table({"id": array})))
    return [*lying, _stream(pa.table({"id": pa.nulls(100_000)})), _stream(pa.table({"x": [1]})), _stream(pa.table({}))]


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


def hostile_inputs(canary: str) -> list[Hostile]:
    """All of them; `canary` is a path at which nothing must appear."""
    statements = [part.strip().format(canary=canary) for part in SQL.strip().replace("\n", "|").split("|")]
    deep = ["SELECT " + "(" * 3000 + "id" + ")" * 3000 + " FROM target", "SELECT id FROM target WHERE " + "NOT " * 5000 + "true",
            "SELECT id FROM target WHERE id = 1" + " OR id = 1" * 20000, "SELECT " + "-" * 10000 + "1 FROM target", "x" * 500_000, "SELECT '\ud800' FROM target",
            "SELECT id\0 FROM target", "SELECT id FROM target WHERE id IN (" + "1," * 50000 + "1)"]  # fmt: skip
    made = [
        Hostile("POST", "/v1/queries", _json({"name": "h", "sql": sql}))
        for sql in (*statements, *(["x"] if not deep else []))
    ]
    made += [Hostile("POST", "/v1/queries", _json({"name": "h", "sql": sql}), statuses=ANY) for sql in deep]
    for path, rest in (
        ("/v1/streams", {"schema": "id bigint"}),
        ("/v1/queries", {"sql": "SELECT id FROM target"}),
        ("/v1/classes", {"priority": 1}),
    ):
        made += [Hostile("POST", path, _json({"name": name, **rest})) for name in NAMES]
    made += [Hostile("POST", path, _json(body)) for path, body in FIELDS]
    made += [Hostile("POST", path, text) for text in TEXTS for path in ("/v1/streams", "/v1/queries")]
    made += [Hostile(method, path) for method, path in PATHS]
    rows = "/v1/streams/target/rows"
    made += [Hostile("POST", rows, body, kind, ANY) for kind, body in LINE_BODIES]
    made += [Hostile("POST", rows, body, ARROW, ANY) for body in arrow_bodies()]
    return made


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
