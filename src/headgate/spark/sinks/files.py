"""The sinks `parquet` and `jsonl`: a query's results in files, exactly once. For their names see `result_files`.

Delivering a commit twice writes it once: its number is in the file's name, and a commit whose file is there, alone or
in a merged file, is not written again. A file is written under a temporary name, forced to disk and renamed, so that
it is complete under its final name.

Each run of a query adds a small file, so small files are merged now and then:

1. Write `merged-1-16.parquet.new` with the rows of the commits 1 to 16, durably.
2. Remove the files `part-1-0.parquet` to `part-16-0.parquet`.
3. Rename the merged file to `merged-1-16.parquet`.

So whoever lists `*.parquet` or `*.jsonl`, such as DuckDB, never gets a row twice. Between steps 2 and 3 such a listing
lacks the rows; Headgate's own readers know both names and always get them. If a crash interrupts the steps, whoever
opens the sink next completes them.
"""

from __future__ import annotations

import threading
from bisect import insort
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import HeadgateError, Spec
from headgate.spark.sinks.base import Call, Results
from headgate.spark.sinks.registry import register
from headgate.spark.sinks.result_files import (
    NEW,
    SCHEMA,
    ResultFile,
    all_files,
    check_bytes,
    dump,
    joined,
    load,
    named,
    read,
    replacing,
    uncovered,
)
from headgate.spark.sinks.result_index import IndexEntry, ResultIndex
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import remove_temporary, sync_folder, write_atomic, writing
from headgate.spark.store.kill_points import at

UNKNOWN = ".unknown"  # ends the names of merged files that are not in the index
FAN = 16  # number of small files that are merged into one
TIERS = (16 << 10, 256 << 10, 2 << 20)  # bytes below which a file counts as small, tried one after the other


class FileSink:
    """Writes a query's results as files of one kind, `parquet` or `jsonl`, into the query's folder."""

    durable = True

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind = folder, kind
        self._lock = threading.RLock()
        self._merging = threading.Lock()
        self._closed = False
        disk.make_folder(folder)
        remove_temporary(folder)
        self._index = ResultIndex(folder)
        self._files: list[ResultFile] = []  # those that count, rising
        self._settle()
        self._finish_merges()

    def roll_forward(self, number: int, table: pa.Table) -> None:
        """Write the results of a commit, unless they are there already."""
        self.roll_forward_all([(number, table)])

    def roll_forward_all(self, results: Results) -> None:
        """Write the results of several commits, in rising order, into one file."""
        with self._lock:
            missing = [(number, table) for number, table in results if not self._has(number)]
            if results:  # also if no commit is missing: a power cut may have left the files and not the schema
                self._save_schema(results[0][1].schema)
            missing = [(number, table) for number, table in missing if table.num_rows]
            if missing and self._files and self._files[-1].last > missing[0][0]:
                for number, table in missing:  # one file for all would seem to cover the newer commit that is there
                    self._write(number, number, table)
            elif missing:
                self._write(missing[0][0], missing[-1][0], joined(self.folder, [table for _, table in missing], None))

    def adopt(self, number: int, files: Sequence[Path]) -> None:
        """Move Parquet files that executors have written for a commit into the folder."""
        with self._lock:
            if self._in_merged(number):
                return
            for index, source in enumerate(files):
                target = self._path(number, index)
                if not target.exists():
                    self._move(source, target)
                if target.name not in self._index.files:
                    self._index.add(IndexEntry.of(target))
                    insort(self._files, ResultFile(number, number, False, target))
                at("sink.adopt.some")
            if self.kind != "parquet":  # they are copies, and the caller removes the originals next
                sync_folder(self.folder)

    def sync(self) -> None:
        """Force the names of the files to disk: the commit log may forget these results afterwards."""
        with writing(self.folder):
            self._index.sync()
            sync_folder(self.folder)
            sync_folder(self.folder.parent)

    def compact(self, upto: int | None = None) -> None:
        """Merge small files if there are enough of them, only those of commits up to `upto`, which are all delivered.

        One thread may merge while another writes newer results. While somebody reads the folder, the small files are
        not removed; the next call does that.
        """
        with self._merging:
            if not self._closed and self._finish_merges():
                self._compact(upto)

    def _compact(self, upto: int | None) -> None:
        with self._lock:
            settled = [file for file in self._files if upto is None or file.last <= upto]
            chosen = self._mergeable(settled)
        if not chosen:
            return
        at("sink.compact.before")
        target = self._merged_path(chosen[0].first, chosen[-1].last)
        merged = ResultFile(chosen[0].first, chosen[-1].last, True, target.with_name(target.name + NEW))
        data = self._merge(chosen)
        write_atomic(merged.path, data, point="sink.compact", durable_name=False)
        with self._lock:
            self._index.add(IndexEntry.of(target, data))
        at("sink.compact.written")
        self._finish_merges()

    def _finish_merges(self) -> bool:
        """Remove files whose rows are in merged files, and rename those; False if somebody reads the folder.

        It lists the folder because an attempt that failed, or that a crash interrupted, may have left a merged file.
        """
        with self._lock:
            in_folder = self._ours()
            self._files = uncovered(in_folder)
            covered = sorted(set(in_folder) - set(self._files))
            merged = [file for file in self._files if file.path != file.target]
        if covered or merged:
            with replacing(self.folder) as allowed, writing(self.folder):
                if not allowed:
                    return False
                try:
                    self._replace(covered, merged)
                finally:
                    with self._lock:  # also if the attempt failed half way
                        self._files = uncovered(self._ours())
                        self._index.forget(file.name for file in covered if not file.path.exists())
            at("sink.compact.after")
        return True

    def _replace(self, covered: Sequence[ResultFile], merged: Sequence[ResultFile]) -> None:
        self._index.sync()
        sync_folder(self.folder)  # or a power cut could lose the merged file's name after the others were removed
        for file in covered:
            disk.unlink(file.path)
            at("sink.compact.some")
        sync_folder(self.folder)  # or a power cut could bring them back beside the merged file
        at("sink.compact.removed")
        for file in merged:
            disk.replace(file.path, file.target)

    def read(self) -> pa.Table:
        return read(self.folder)

    def close(self) -> None:
        """Wait for a merge that is under way: another sink may write to the folder next."""
        with self._merging:
            self._closed = True

    def _write(self, first: int, last: int, table: pa.Table) -> None:
        merged = first != last
        path = self._merged_path(first, last) if merged else self._path(first, 0)
        data = dump(table, self.kind)
        at("sink.forward.before")
        write_atomic(path, data, point="sink.forward", durable_name=False)
        self._index.add(IndexEntry.of(path, data))
        at("sink.forward.after")
        insort(self._files, ResultFile(first, last, merged, path))

    def _has(self, number: int) -> bool:
        """Whether a commit's results are in a file; one that is not in the index, after a crash, is written anew."""
        path = self._path(number, 0)
        return self._in_merged(number) or (path.name in self._index.files and path.exists())

    def _ours(self) -> list[ResultFile]:
        """The files in the folder that were written here."""
        return [file for file in all_files(self.folder) if file.name in self._index.files]

    def _settle(self) -> None:
        """Make folder and index agree after a crash, or after an earlier version, which kept no index."""
        files = all_files(self.folder)
        if files and not self._index.path.exists():
            self._index.add(*(replace(IndexEntry.of(file.path), name=file.name) for file in files))
        ours = [file for file in files if file.name in self._index.files]
        newest = max((file.last for file in ours), default=0)
        for file in files:
            # Written just before a crash: what was merged is in other files, or in the commit log.
            if file not in ours and file.merged and (file.path != file.target or file.first > newest):
                disk.replace(file.path, file.path.with_name(file.path.name + UNKNOWN))
        gone = self._index.files.keys() - {file.name for file in ours}
        # Merged files whose names were lost in a power cut: what they were to replace is there.
        lost = [file.name for file in named(self.folder, gone) if any(file.covers(other) for other in ours)]
        if lost:
            self._index.forget(lost)
            self._index.rewrite()

    def _in_merged(self, number: int) -> bool:
        """Whether a merged file has a commit; the newest files are tried first, as mostly new commits are asked for."""
        for file in reversed(self._files):
            if file.last < number:
                return False
            if file.merged and file.first <= number:
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
            data = schema.remove_metadata().serialize()
            write_atomic(path, data, durable_name=False)
            self._index.add(IndexEntry.of(path, data))

    def _mergeable(self, settled: list[ResultFile]) -> list[ResultFile]:
        """The newest files below a size, if there are enough; the smallest size first.

        So a row is rewritten once for each size and not with each merge.
        """
        for size in TIERS:
            large = (n for n, file in enumerate(reversed(settled)) if self._stays(file, size))
            chosen = self._whole_commits(settled, settled[len(settled) - next(large, len(settled)) :])
            if len(chosen) >= FAN:
                return chosen
        return []

    def _stays(self, file: ResultFile, size: int) -> bool:
        """Whether a file is too large to be merged, or of another kind (an earlier query of this name wrote it)."""
        return file.kind != self.kind or file.path.stat().st_size >= size

    def _whole_commits(self, settled: list[ResultFile], chosen: list[ResultFile]) -> list[ResultFile]:
        """Leave out a commit if only some of its files were chosen: a merged file has all of each commit."""
        left_out = len(settled) - len(chosen)
        if left_out and chosen:
            split = settled[left_out - 1].last
            return [file for file in chosen if file.first > split]
        return chosen

    def _merge(self, chosen: Sequence[ResultFile]) -> object:
        for file in chosen:
            check_bytes(file.path, self._index.files[file.name])
        if self.kind == "jsonl":
            return b"".join(file.path.read_bytes() for file in chosen)
        return dump(joined(self.folder, [load(file.path, None) for file in chosen], None), self.kind)


@register("parquet", in_files=True, own_thread=False, may_lag=True)
@register("jsonl", in_files=True, own_thread=False, may_lag=True)
def open_files(spec: Spec, folder: Path, call: Call) -> FileSink:
    """Open the files of a query; the sink's name is their format."""
    return FileSink(folder, spec.name)
