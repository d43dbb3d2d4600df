"""The data directory, which has everything that an engine keeps on disk.

    headgate.json       the version of the format
    lock                locked by the process that has the directory open
    streams/NAME/       the log of a stream (see `log.files`)
    deadletters/        tuples that streams or queries could not process (see `dead_letters`)
    commits/            the commit log, with everything that was declared (see `commits.commit_log`)
    aside/              large results, which executors write here before they are committed
    waiting/QUERY/      fragment logs: rows that wait between two fragments of a query
    results/QUERY/      files with the results of a query (see `sinks.result_files`)
    checkpoints/NAME/   Spark's checkpoint of a stream that is fed by Structured Streaming
    journal/            how the states of queries have changed (see `journal`)
    access/             tokens and tenants' limits, if the directory is served (see `headgate.server.access`)
    history/            decisions and runs of the last ten minutes (see `headgate.history.ring`)
    costs.json          the measured costs of queries, for people to read
    spark.log           the log of Spark, if the engine has started it; spark.log.1 has the lines before

*Recovery.* The stream logs and the commit log are the truth, and everything else follows from them. After a crash the
engine reads the commit log, delivers every committed result that a sink lacks, removes files in `aside` that nobody
needs, declares again what the commits say was declared, and starts each query at its committed offsets. A run that was
not committed does not count, and is done again.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from headgate.model import HeadgateError
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import (
    TEMPORARY,
    read_json,
    remove_temporary,
    safe_name,
    sync_folder,
    write_json,
    writing,
)
from headgate.spark.store.former_formats import write_catalog
from headgate.spark.store.kill_points import at

VERSION_FILE, LOCK, ACCESS = "headgate.json", "lock", "access"
VERSION = 4
FORMER = (1, 2, 3)  # versions that can be read too; opening such a directory writes the new version
WITHOUT_CATALOG = (1, 2)  # of these, the ones whose catalog is written then
# Older directories have no folders `journal` and `history`: they are created when they are written.
FOLDERS = (
    "streams",
    "deadletters",
    "commits",
    "aside",
    "waiting",
    "results",
    "journal",
    "history",
)
# May be there before the version is written: Spark starts first, tokens are added before, writing was interrupted.
FILES = (LOCK, "spark.log", "spark.log.1", VERSION_FILE + TEMPORARY, ACCESS)


class DataDirectory:
    """A data directory, created or opened, and locked against other processes until it is closed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, DataDirectory(Path(folder) / "data") as directory:
    ...     directory.stream("sensors").relative_to(directory.path).as_posix()
    'streams/sensors'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        check_directory(self.path)
        self._make()
        self._descriptor = self._lock()
        try:
            self._check_version()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> DataDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def commits(self) -> Path:
        return self.path / "commits"

    @property
    def aside(self) -> Path:
        return self.path / "aside"

    @property
    def waiting(self) -> Path:
        return self.path / "waiting"

    @property
    def results(self) -> Path:
        return self.path / "results"

    @property
    def journal(self) -> Path:
        return self.path / "journal"

    @property
    def history(self) -> Path:
        return self.path / "history"

    @property
    def spark_log(self) -> Path:
        return self.path / "spark.log"

    def stream(self, name: str) -> Path:
        """The folder of a stream's log."""
        return self.path / "streams" / safe_name(name)

    def checkpoint(self, stream: str) -> Path:
        """Where Spark keeps its checkpoint of a stream that is fed by Structured Streaming."""
        return self.path / "checkpoints" / safe_name(stream)

    def letters(self, stream: str) -> Path:
        """The file of a stream's dead letters."""
        return self.path / "deadletters" / f"{safe_name(stream)}.jsonl"

    def result(self, query: str) -> Path:
        """The folder of a query's results."""
        return self.results / safe_name(query)

    def remove_stream(self, name: str) -> None:
        """Remove the log, dead letters and checkpoint of a stream, durably; what is not there is left out."""
        at("stream.remove.before")
        folder, letters, checkpoint = self.stream(name), self.letters(name), self.checkpoint(name)
        with writing(folder):
            for path in (letters, *sorted(letters.parent.glob(f"{letters.stem}.taken-*.jsonl"))):
                disk.unlink(path, missing_ok=True)
            at("stream.remove.some")
            for path in (checkpoint, folder):
                if path.is_dir():
                    disk.rmtree(path)
            for parent in {folder.parent, letters.parent, checkpoint.parent}:
                if parent.is_dir():
                    sync_folder(parent)
        at("stream.remove.after")

    def check_commits(self) -> None:
        """Refuse a directory that has lost its commit log: an engine writes a commit before its first stream."""
        streams = self.path / "streams"
        if not any(self.commits.glob("*.log")) and streams.is_dir() and any(streams.iterdir()):
            hint = "restore the folder from a copy: it says where queries stand and what was declared"
            raise HeadgateError("the commit log is missing", where=str(self.commits), hint=hint)

    def _make(self) -> None:
        try:
            disk.make_folder(self.path)
        except OSError as error:
            raise _cannot_make(self.path, error) from error

    def _lock(self) -> int:
        with writing(self.path / LOCK):
            descriptor = disk.open(self.path / LOCK, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            refusal = _in_use(self.path, descriptor)
            os.close(descriptor)
            raise refusal from error
        with suppress(OSError):  # the number is only for people, and the disk may be full
            disk.truncate(descriptor, 0)
            disk.write_all(descriptor, f"{os.getpid()}\n".encode(), 0)
        return descriptor

    def _check_version(self) -> None:
        """Check the version, or create a new directory: the version is written last, when all folders are there."""
        version = _version(self.path)
        remove_temporary(self.path)
        file = self.path / VERSION_FILE
        if version is not None:
            if version != VERSION:
                self._take_over(file, version)
            return
        with writing(self.path):
            for folder in FOLDERS:
                disk.mkdir(self.path / folder)
            sync_folder(self.path)
        write_json(file, {"format": VERSION})

    def _take_over(self, file: Path, version: object) -> None:
        """Commit the catalog, which older formats lack, then write the new version in one atomic step.

        From then on an older Headgate refuses the directory. Until then it can still use it: it does not see the
        catalog, which is committed again the next time.
        """
        at("directory.take-over.before")
        if version in WITHOUT_CATALOG:
            write_catalog(self.path / "streams", self.commits)
        at("directory.take-over.committed")
        write_json(file, {"format": VERSION}, point="directory.take-over")
        at("directory.take-over.after")


def check_directory(path: Path) -> None:
    """Refuse a directory that could not be opened: somebody uses it, it is not ours, or cannot be made or written.

    Nothing is changed or left behind, so this can be asked before Spark is started.
    """
    try:
        if not path.is_dir():
            _check_can_make(path)
            return
    except (OSError, ValueError) as error:  # ValueError: the name has a character that no name may have
        raise _cannot_make(path, error) from error
    with writing(path):
        _version(path)
        _check_unused(path)
        if not os.access(path, os.W_OK | os.X_OK):
            raise _system_error(errno.EACCES)


def check_ours(path: Path) -> None:
    """Refuse a folder that is not a data directory and cannot become one; somebody may be using it."""
    try:
        if path.is_dir():
            _version(path)
        else:
            _check_can_make(path)
    except (OSError, ValueError) as error:
        raise _cannot_make(path, error) from error


def _check_can_make(path: Path) -> None:
    """Refuse a folder if it is a file, or could not be made in the nearest folder above that is there."""
    with suppress(FileNotFoundError):
        os.lstat(path)
        raise _system_error(errno.ENOTDIR)
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not os.access(above, os.W_OK | os.X_OK):
        raise _system_error(errno.EACCES)
    if max(len(os.fsencode(part)) for part in path.parts) > os.pathconf(above, "PC_NAME_MAX"):
        raise _system_error(errno.ENAMETOOLONG)


def _system_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _version(path: Path) -> object:
    """The version of a data directory; None for a folder that may become one. Any other is refused."""
    file = path / VERSION_FILE
    if file.exists():
        version: object = read_json(file).get("format")
        check_version(version, file)
        return version
    foreign = sorted(entry.name for entry in path.iterdir() if entry.name not in (*FOLDERS, *FILES))
    if foreign:
        raise HeadgateError(
            f"the folder is not a data directory and not empty: it holds '{foreign[0]}'",
            where=str(path),
            hint="choose a new or an empty folder",
        )
    return None


def _check_unused(path: Path) -> None:
    try:
        descriptor = os.open(path / LOCK, os.O_RDONLY)
    except FileNotFoundError:  # nobody has opened it so far
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise _in_use(path, descriptor) from error
    finally:
        os.close(descriptor)


def _in_use(path: Path, descriptor: int) -> HeadgateError:
    holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
    return HeadgateError(
        f"the data directory is in use by process {holder}",
        where=str(path),
        hint="stop that process or choose another directory",
    )


def _cannot_make(path: Path, error: Exception) -> HeadgateError:
    reason = getattr(error, "strerror", None) or str(error)
    return HeadgateError(f"cannot make the data directory: {reason}", where=str(path), hint="choose another place")


def check_version(version: object, file: Path) -> None:
    """Refuse a directory with a version of the format that this Headgate cannot read."""
    if version != VERSION and version not in FORMER:
        readable = ", ".join(map(str, (*FORMER, VERSION)))
        raise HeadgateError(
            f"the data directory has format {version}, this Headgate reads formats {readable}",
            where=str(file),
            hint="open it with the Headgate that wrote it, or choose a new directory",
        )
