"""The thread that owns the state machine, and the threads that carry out its tasks."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import count
from math import inf
from typing import Any

from headgate.model import HeadgateError, closed
from headgate.spark.machine.context import Note, Out
from headgate.spark.machine.machine import Machine
from headgate.spark.machine.messages import Answer, CancelWait, Command, Message, TimePassed
from headgate.spark.machine.tasks import (
    BACKGROUND,
    COMMIT,
    FILES,
    KILL,
    MAINTENANCE,
    WORKER,
    CloseSink,
    Reply,
    Task,
    WriteCommit,
)

ENDING = 5.0  # seconds that a thread gets to return from a call of Spark's
BACKGROUND_THREADS = 4  # threads that check queries, open streams and check windows
SINK = "sink-"  # prefix of the lanes of sinks that run user code


class Lane:
    """A queue of tasks with its threads, which start them in order, up to `group` at a time."""

    def __init__(self, name: str, threads: int, perform: Callable[[Sequence[Task]], None], group: int = 1) -> None:
        self._queue: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._perform, self._group = perform, group
        self.threads = [
            threading.Thread(target=self._work, name=f"headgate-{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self.threads:
            thread.start()

    def put(self, task: Task) -> None:
        self._queue.put(task)

    def end(self) -> None:
        """Let the threads end after the tasks in the queue."""
        for _ in self.threads:
            self._queue.put(None)

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            tasks = [task]
            while len(tasks) < self._group and not self._queue.empty():
                further = self._queue.get()
                if further is None:
                    self._queue.put(None)
                    break
                tasks.append(further)
            self._perform(tasks)


class Owner:
    """Passes messages to the state machine one by one, and tasks to lanes.

    `perform` carries out one task, `write` up to `group` commits with one fsync; `note` gets transitions and notices.
    """

    def __init__(
        self,
        machine: Machine,
        perform: Callable[[Task], Any],
        write: Callable[[Sequence[WriteCommit]], Sequence[Any]],
        now: Callable[[], float],
        note: Callable[[Note], None],
        workers: int,
        group: int,
    ) -> None:
        self._machine, self._perform, self._write, self._now, self._note = machine, perform, write, now, note
        self._mailbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._tickets = count(1)
        self._futures: dict[int, Future[Any]] = {}
        self._ended = threading.Event()
        self.seconds = 0.0  # that the state machine took to decide and to keep its books
        self.sources_may_wait = False  # whether some query has a lag limit that makes sources wait
        self._lanes = {
            WORKER: Lane("worker", workers, self._carry_out),
            BACKGROUND: Lane("background", BACKGROUND_THREADS, self._carry_out),
            COMMIT: Lane("commit", 1, self._commit, group),
            MAINTENANCE: Lane("maintenance", 1, self._carry_out),
            FILES: Lane("files", 1, self._carry_out),
        }
        self._thread = threading.Thread(target=self._own, name="headgate-owner", daemon=True)
        self._thread.start()

    # -- for callers -------------------------------------------------------------------------------------------

    def tell(self, message: Message) -> None:
        """Send a message that needs no reply."""
        self._mailbox.put(message)

    def ask(self, kind: Callable[..., Command], *given: Any, timeout: float | None = None, **more: Any) -> Any:
        """Send a command and wait for its reply. The owner thread does not wait, so other callers are not held up."""
        ticket, future = self._sent(kind, *given, **more)
        try:
            return future.result(timeout)
        except TimeoutError:
            self._futures.pop(ticket, None)
            self._mailbox.put(CancelWait(ticket))
            raise

    def send(self, kind: Callable[..., Command], *given: Any, **more: Any) -> Future[Any]:
        """Send a command whose reply is waited for later, so that several are carried out at a time."""
        return self._sent(kind, *given, **more)[1]

    def _sent(self, kind: Callable[..., Command], *given: Any, **more: Any) -> tuple[int, Future[Any]]:
        ticket, future = next(self._tickets), Future[Any]()
        self._futures[ticket] = future
        self._mailbox.put(kind(ticket, *given, **more))
        if self._ended.is_set():
            self._refuse_all()
        return ticket, future

    def end(self, *, wait: bool = True) -> None:
        """End all threads; those that run user code are not waited for, nor without `wait` those that call Spark.

        Those that call Spark have nothing left to do, but may hang in a call that does not return.
        """
        on_spark = (WORKER, BACKGROUND, KILL)
        self._mailbox.put(None)
        self._thread.join()
        for lane in self._lanes.values():
            lane.end()
        for name, lane in self._lanes.items():
            for thread in lane.threads:
                if name in on_spark and wait:
                    thread.join(ENDING)
                else:
                    thread.join(0.1 if name.startswith(SINK) or name in on_spark else None)

    # -- the owner ---------------------------------------------------------------------------------------------

    def _own(self) -> None:
        while (message := self._next()) is not None:
            began = self._now()
            try:
                outputs = self._machine.handle(message, began)
            except Exception as error:  # a bug: it must not stop other queries
                outputs = self._machine.failed(message, error)
            self.seconds += self._now() - began
            for output in outputs:
                self._send(output)
            self.sources_may_wait = self._machine.lag_limits.sources_may_wait
        self._ended.set()
        self._refuse_all()

    def _next(self) -> Message | None:
        due = self._machine.due
        try:
            wait = None if due == inf else max(0.0, due - self._now())
            return self._mailbox.get(timeout=None if wait is None else min(wait, threading.TIMEOUT_MAX))
        except queue.Empty:
            return TimePassed()

    def _send(self, output: Out) -> None:
        if isinstance(output, Reply):
            future = self._futures.pop(output.ticket, None)
            if future is None:
                return
            if output.error is None:
                future.set_result(output.value)
            else:
                future.set_exception(output.error)
        elif isinstance(output, Task):
            self._lane(output.lane).put(output)
            if isinstance(output, CloseSink) and output.lane.startswith(SINK):
                self._lanes.pop(output.lane).end()
        else:
            self._note(output)

    def _lane(self, name: str) -> Lane:
        if name not in self._lanes:
            self._lanes[name] = Lane(name, 1, self._carry_out)
        return self._lanes[name]

    def _refuse_all(self) -> None:
        while self._futures:
            _, future = self._futures.popitem()
            future.set_exception(closed())

    # -- carrying out tasks, in the threads of lanes -----------------------------------------------------------

    def _carry_out(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            try:
                answer = Answer(task, self._perform(task))
            except Exception as error:
                answer = Answer(task, error=error)
            except BaseException as error:  # user code tried to end the program, as with sys.exit: only its query ends
                answer = Answer(task, error=HeadgateError(f"{type(error).__name__} was raised: {error}"))
            self._mailbox.put(answer)

    def _commit(self, tasks: Sequence[Task]) -> None:
        writes = [task for task in tasks if isinstance(task, WriteCommit)]
        try:
            answers = [Answer(task, commit) for task, commit in zip(writes, self._write(writes), strict=True)]
        except Exception as error:
            answers = [Answer(task, error=error) for task in writes]
        for answer in answers:
            self._mailbox.put(answer)
