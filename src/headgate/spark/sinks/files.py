"""A query's results into files, exactly once.

The commit's number in a file's name makes rolling forward idempotent: what is there, alone or in a merged file, is not
written again. Files are written whole under another name, forced to disk and renamed.

Merging never shows a row twice to those who list `*.parquet` or `*.jsonl`, such as DuckDB: the merged file is complete
and durable under a name that such a listing does not match, then the small files go, then it gets its name. Between the
last two steps such a listing lacks the rows; Headgate's own readers know both names and lack nothing. Whoever opens the
sink next completes what a crash has left.
"""

from __future__ import annotations

import threading
from bisect import insort
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import HeadgateError
from headgate.spark.sinks.result_files import NEW, SCHEMA, ResultFile, changing, dump, joined, live, load, parts, read
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import remove_temporary, sync_folder, write_atomic, writing
from headgate.spark.store.kill_points import at

FAN = 16  # so many small files become one
TIERS = (16 << 10, 256 << 10, 2 << 20)  # bytes up to which a file counts as small


class FileSink:
    """The sink that writes a query's results as files of one kind, `parquet` or `jsonl`."""

    durable = True

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind = folder, kind
        self._lock = threading.RLock()
        self._merging = threading.Lock()
        self._closed = False
        disk.make_folder(folder)
        remove_temporary(folder)
        self._parts: list[ResultFile] = []
        self._replace_merged()

    def roll_forward(self, number: int, table: pa.Table) -> None:
        """Put what a commit produced into place; the second time nothing happens."""
        self.roll_forward_all([(number, table)])

    def roll_forward_all(self, results: Sequence[tuple[int, pa.Table]]) -> None:
        """The same for several commits in rising order, in one file."""
        with self._lock:
            wanted = [(number, table) for number, table in results if not self._has(number)]
            if results:  # also if all files are there: a power cut may have left them without it
                self._save_schema(results[0][1].schema)
            wanted = [(number, table) for number, table in wanted if table.num_rows]
            if wanted and self._parts and self._parts[-1].last > wanted[0][0]:
                for number, table in wanted:  # a merged file would cover one that lies between
                    self._write(number, number, table)
            elif wanted:
                self._write(wanted[0][0], wanted[-1][0], pa.concat_tables([table for _, table in wanted]))

    def adopt(self, number: int, files: Sequence[Path]) -> None:
        """Take over Parquet files that were written aside for a commit."""
        with self._lock:
            if self._in_merged(number):
                return
            for index, source in enumerate(files):
                target = self._path(number, index)
                if not target.exists():
                    self._move(source, target)
                    insort(self._parts, ResultFile(number, number, False, target))
                at("sink.adopt.some")
            if self.kind != "parquet":  # copies, and their sources go next; a file that moves is never without a name
                sync_folder(self.folder)

    def sync(self) -> None:
        """Force the names of the files to disk: from then on the commits need not be kept."""
        with writing(self.folder):
            sync_folder(self.folder)
            sync_folder(self.folder.parent)

    def compact(self, upto: int | None = None) -> None:
        """Merge small files, where enough of a size have gathered; of commits up to a number, which are whole here.

        One thread may merge while another puts newer results into place. While somebody reads the files, the small
        ones stay until the next time.
        """
        with self._merging:
            if not self._closed and self._replace_merged():
                self._compact(upto)

    def _compact(self, upto: int | None) -> None:
        with self._lock:
            settled = [part for part in self._parts if upto is None or part.last <= upto]
            chosen = self._mergeable(settled)
        if not chosen:
            return
        at("sink.compact.before")
        target = self._merged_path(chosen[0].first, chosen[-1].last)
        merged = ResultFile(chosen[0].first, chosen[-1].last, True, target.with_name(target.name + NEW))
        write_atomic(merged.path, self._merge(chosen), point="sink.compact", durable_name=False)
        at("sink.compact.written")
        self._replace_merged()

    def _replace_merged(self) -> bool:
        """Remove files whose rows are in merged ones, which then get their names; False if somebody reads them.

        What is there is asked of the folder: an attempt that the disk broke off may have left a merged file.
        """
        with self._lock:
            found = parts(self.folder)
            self._parts = live(found)
            covered = sorted(set(found) - set(self._parts))
            merged = [part for part in self._parts if part.path != part.target]
        if covered or merged:
            with changing(self.folder) as allowed, writing(self.folder):
                if not allowed:
                    return False
                try:
                    self._replace(covered, merged)
                finally:
                    with self._lock:  # also what an attempt that failed half way has left
                        self._parts = live(parts(self.folder))
            at("sink.compact.after")
        return True

    def _replace(self, covered: Sequence[ResultFile], merged: Sequence[ResultFile]) -> None:
        sync_folder(self.folder)  # else a power cut might take the merged file's name, and the others be gone
        for part in covered:
            disk.unlink(part.path)
            at("sink.compact.some")
        sync_folder(self.folder)  # else a power cut might bring them back beside the merged file
        at("sink.compact.removed")
        for part in merged:
            disk.replace(part.path, part.target)

    def read(self) -> pa.Table:
        return read(self.folder)

    def close(self) -> None:
        """Let merging end: another sink may be on the folder next."""
        with self._merging:
            self._closed = True

    def _write(self, first: int, last: int, table: pa.Table) -> None:
        merged = first != last
        path = self._merged_path(first, last) if merged else self._path(first, 0)
        at("sink.forward.before")
        write_atomic(path, dump(table, self.kind), point="sink.forward", durable_name=False)
        at("sink.forward.after")
        insort(self._parts, ResultFile(first, last, merged, path))

    def _has(self, number: int) -> bool:
        return self._in_merged(number) or self._path(number, 0).exists()

    def _in_merged(self, number: int) -> bool:
        """The newest files come last, and the newest commits are those asked for."""
        for part in reversed(self._parts):
            if part.last < number:
                return False
            if part.merged and part.first <= number:
                return True
        return False

    def _path(self, number: int, index: int) -> Path:
        return self.folder / f"part-{number:012}-{index:04}.{self.kind}"

    def _merged_path(self, first: int, last: int) -> Path:
        return self.folder / f"merged-{first:012}-{last:012}.{self.kind}"

    def _move(self, source: Path, target: Path) -> None:
        if not source.exists():
            raise HeadgateError(
                "a committed result is missing", where=str(source), hint="restore the data directory from a copy"
            )
        self._save_schema(pq.read_schema(source))
        if self.kind == "parquet":
            disk.replace(source, target)
        else:
            write_atomic(target, dump(pq.read_table(source, partitioning=None), self.kind), durable_name=False)

    def _save_schema(self, schema: pa.Schema) -> None:
        path = self.folder / SCHEMA
        if not path.exists():
            write_atomic(path, schema.remove_metadata().serialize(), durable_name=False)

    def _mergeable(self, settled: list[ResultFile]) -> list[ResultFile]:
        """The smallest first, so that a row is rewritten once per tier and not once per merge."""
        for size in TIERS:
            large = (n for n, part in enumerate(reversed(settled)) if self._stays(part, size))
            chosen = self._whole(settled, settled[len(settled) - next(large, len(settled)) :])
            if len(chosen) >= FAN:
                return chosen
        return []

    def _stays(self, part: ResultFile, size: int) -> bool:
        """Whether a file is too large to be merged, or of another kind: of a former query of this name."""
        return part.kind != self.kind or part.path.stat().st_size >= size

    def _whole(self, settled: list[ResultFile], chosen: list[ResultFile]) -> list[ResultFile]:
        """Leave out a commit of which other files stay behind: a merged file has all of a commit."""
        behind = len(settled) - len(chosen)
        if behind and chosen:
            split = settled[behind - 1].last
            return [part for part in chosen if part.first > split]
        return chosen

    def _merge(self, chosen: Sequence[ResultFile]) -> object:
        if self.kind == "jsonl":
            return b"".join(part.path.read_bytes() for part in chosen)
        return dump(joined(self.folder, [load(part.path, None) for part in chosen], None), self.kind)
