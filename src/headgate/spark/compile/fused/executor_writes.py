"""Large trains of a group: executors read sealed segments, tag the rows and write those that some member wants, once.

If few rows were written, the driver reads them back. Otherwise it makes each member's own files of them, a batch at a
time: rows that several members want are copied there and not in the job, and at most a batch is in memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from headgate.spark.compile.executor_writes import Written, write
from headgate.spark.compile.fused.membership import Membership, hand_out
from headgate.spark.compile.schemas import OFFSET

BATCH = 200_000  # rows that are split by member at a time
MANY = 50_000  # rows that are worth a file for each member


def takers_by_offset(spans: Sequence[tuple[int, int]]) -> str:
    """The bits of the members that take a row, by its offset. As literals: compiling is cheap beside so many rows.

    >>> takers_by_offset([(0, 10), (5, 10), (0, 10)])
    'IF(_offset >= 0L AND _offset < 10L, 5L, 0L) | IF(_offset >= 5L AND _offset < 10L, 2L, 0L)'
    """
    bits: dict[tuple[int, int], int] = {}
    for number, span in enumerate(spans):
        bits[span] = bits.get(span, 0) | 1 << number
    return " | ".join(
        f"IF({OFFSET} >= {first}L AND {OFFSET} < {last}L, {members}L, 0L)" for (first, last), members in bits.items()
    )


def write_members(
    frame: DataFrame,
    membership: Membership,
    spans: Sequence[tuple[int, int]],
    names: Sequence[Sequence[str]],
    schemas: Sequence[pa.Schema],
    aside: Path,
) -> Sequence[pa.Table | Written]:
    """One Spark job: a tagged frame into rows or files of each member. A failure leaves nothing in the folder."""

    def split(table: pa.Table) -> list[pa.Table]:
        return hand_out(table, membership.pairs(table, spans), names, schemas)

    tagged = write(frame, frame.columns, aside)
    folder = aside / uuid4().hex
    try:
        paths = [aside / name for name in tagged.files]
        if 0 < tagged.rows < MANY:
            return split(pa.concat_tables(map(pq.read_table, paths)))
        return _split_files(
            paths, lambda table: hand_out(table, membership.pairs(table, spans), names, schemas), schemas, folder
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        for parent in {(aside / name).parent for name in tagged.files}:
            shutil.rmtree(parent, ignore_errors=True)


def _split_files(
    paths: Sequence[Path], split: Callable[[pa.Table], list[pa.Table]], schemas: Sequence[pa.Schema], folder: Path
) -> list[Written]:
    """Tagged files into a file for each member that has rows."""
    folder.mkdir()
    writers: dict[int, pq.ParquetWriter] = {}
    counts = [0] * len(schemas)
    try:
        for path in paths:
            for batch in pq.ParquetFile(path).iter_batches(BATCH):
                for number, (rows, schema) in enumerate(zip(split(pa.table(batch)), schemas, strict=True)):
                    if rows.num_rows:
                        if number not in writers:
                            writers[number] = pq.ParquetWriter(folder / f"{number}.parquet", schema)
                        writers[number].write_table(rows.select(schema.names))
                        counts[number] += rows.num_rows
    finally:
        for writer in writers.values():
            writer.close()
    if not writers:
        folder.rmdir()
    files = {number: (f"{folder.name}/{number}.parquet",) for number in writers}
    return [Written(files.get(number, ()), count) for number, count in enumerate(counts)]
