"""The data directory: one engine's streams, commits, results and dead letters.

headgate.json       the format's version
lock                held by the process that has it open
streams/NAME/       a stream's log
deadletters/        what streams could not take
commits/            what runs have done
aside/              files that executors write before they are committed
waiting/QUERY/      rows that wait between the operators of a query
results/QUERY/      what a query has produced
journal/            how the states of queries have changed
spark.log           what Spark says, if it is Headgate's own; spark.log.1 is the part before
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from headgate.model import HeadgateError
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import read_json, remove_temporary, safe_name, sync_folder, write_json, writing
from headgate.spark.store.kill_points import at

VERSION = 2
FORMER = (1,)  # read as they are: taking one over is writing the new version
# Older directories have no folder for the journal: who writes to it makes it.
FOLDERS = (
    "streams",
    "deadletters",
    "commits",
    "aside",
    "waiting",
    "results",
    "journal",
)
FILES = ("lock", "spark.log", "spark.log.1")  # those that may be there before the version is: Spark starts first


class DataDirectory:
    """A data directory, made or opened, and locked against other processes until it is closed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, DataDirectory(Path(folder) / "data") as directory:
    ...     directory.stream("sensors").relative_to(directory.path).as_posix()
    'streams/sensors'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._make()
        self._descriptor = self._lock()
        try:
            self._check_version()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let other processes have it."""
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
    def spark_log(self) -> Path:
        return self.path / "spark.log"

    def stream(self, name: str) -> Path:
        """The folder of a stream's log."""
        return self.path / "streams" / safe_name(name)

    def letters(self, stream: str) -> Path:
        """The file of a stream's dead letters."""
        return self.path / "deadletters" / f"{safe_name(stream)}.jsonl"

    def result(self, query: str) -> Path:
        """The folder of a query's results."""
        return self.results / safe_name(query)

    def _make(self) -> None:
        try:
            disk.make_folder(self.path)
        except (OSError, ValueError) as error:  # a name may also hold what no name may hold
            told = getattr(error, "strerror", None) or str(error)
            raise HeadgateError(
                f"cannot make the data directory: {told}", where=str(self.path), hint="choose another place"
            ) from error

    def _lock(self) -> int:
        with writing(self.path / "lock"):
            descriptor = disk.open(self.path / "lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise HeadgateError(
                f"the data directory is in use by process {holder}",
                where=str(self.path),
                hint="stop that process or choose another directory",
            ) from error
        with suppress(OSError):  # for people only, and a disk may be full
            disk.truncate(descriptor, 0)
            disk.write_all(descriptor, f"{os.getpid()}\n".encode(), 0)
        return descriptor

    def _check_version(self) -> None:
        """Write the version last: a directory that has it has all its folders."""
        remove_temporary(self.path)
        file = self.path / "headgate.json"
        if file.exists():
            found = read_json(file).get("format")
            check_version(found, file)
            if found != VERSION:
                self._take_over(file)
            return
        strangers = sorted(path.name for path in self.path.iterdir() if path.name not in (*FOLDERS, *FILES))
        if strangers:
            raise HeadgateError(
                f"the folder is not a data directory and not empty: it holds '{strangers[0]}'",
                where=str(self.path),
                hint="choose a new or an empty folder",
            )
        with writing(self.path):
            for folder in FOLDERS:
                disk.mkdir(self.path / folder)
            sync_folder(self.path)
        write_json(file, {"format": VERSION})

    def _take_over(self, file: Path) -> None:
        """One step: before it the directory is of the former version, after it an older Headgate refuses it."""
        at("directory.take-over.before")
        write_json(file, {"format": VERSION}, point="directory.take-over")
        at("directory.take-over.after")


def check_version(found: object, file: Path) -> None:
    """Refuse a directory that another Headgate has written in another way."""
    if found != VERSION and found not in FORMER:
        known = ", ".join(map(str, (*FORMER, VERSION)))
        raise HeadgateError(
            f"the data directory has format {found}, this Headgate reads formats {known}",
            where=str(file),
            hint="open it with the Headgate that wrote it, or choose a new directory",
        )
