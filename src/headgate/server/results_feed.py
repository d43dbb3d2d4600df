"""Results of queries as server-sent events: one feed for each query that somebody listens to, whatever the number.

A listener has nothing but a position, the number of its next row. What comes there is a *batch*: some rows, encoded as
one event, whose `id` is the cursor after its last row. Batches are kept while they are new, so that of all listeners at
the same place only the first one reads and encodes. Batches end where all committed rows end, and at multiples of
`ROWS`, so that listeners who began at different rows soon share them.

The feed follows the query, so that new rows are in memory, and wakes its listeners when some are durable. A slow
listener needs nothing of the feed: it reads where it is, from files if need be.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from headgate.model import HeadgateError
from headgate.server.event_stream import event, json_event
from headgate.server.json_rows import json_rows
from headgate.server.problems import own_words
from headgate.server.workspace.new_rows import NewRows
from headgate.server.workspace.results import Results

ROWS = 2000  # of a batch at most
KEPT = 4 << 20  # bytes of encoded batches that one feed keeps
CHECK = 5.0  # seconds without news after which to look all the same: a query may have been removed
PAUSE = 0.05  # seconds from a commit to a look for new rows: what is committed meanwhile is in the same batch


@dataclass(frozen=True, slots=True)
class Batch:
    """An encoded event with the rows from a position to another."""

    data: bytes
    next: int


@dataclass(slots=True)
class ResultsFeed:
    """The results of one query for all who listen. It lives in the event loop of the server."""

    results: Results
    listeners: int = 0
    _new: NewRows | None = None
    _end: int = 0  # rows that are known to be committed
    _ended: bool = False  # the engine has told that no more will come, unless it was stopped or begun again
    _over: bool = False  # no more will come
    _stale: bool = True  # something was committed since the last look
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _batches: OrderedDict[int, Batch] = field(default_factory=OrderedDict)
    _bytes: int = 0
    _loading: dict[int, asyncio.Task[Batch | None]] = field(default_factory=dict)
    _looking: asyncio.Task[None] | None = None
    _timer: asyncio.TimerHandle | None = None
    _beginning: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def begin(self) -> None:
        """Follow the query, unless that has begun."""
        async with self._beginning:
            if self._new is None:
                await self._begin()

    async def _begin(self) -> None:
        loop = asyncio.get_running_loop()

        def told(commit: int | None) -> None:  # in the thread that commits
            loop.call_soon_threadsafe(self._wake, commit is None)

        self._new = await run_in_threadpool(NewRows, self.results, told)
        self._later(CHECK)

    def end(self) -> None:
        """Nobody listens any more."""
        if self._new is not None:
            self._new.end()
        if self._looking is not None:
            self._looking.cancel()
        if self._timer is not None:
            self._timer.cancel()

    def _wake(self, ended: bool) -> None:
        self._ended = self._ended or ended
        self._later(PAUSE)

    def _later(self, seconds: float) -> None:
        """Let listeners look in some seconds, unless they do so earlier already."""
        loop = asyncio.get_running_loop()
        if self._timer is not None and self._timer.when() <= loop.time() + seconds:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self._announce)

    def _announce(self) -> None:
        self._timer, self._stale = None, True
        self._news.set()
        self._news = asyncio.Event()
        self._later(CHECK)

    async def events(self, position: int | None) -> AsyncGenerator[bytes, None]:
        """What one listener gets from a row on; None: from the rows that come from now on."""
        if position is None:
            await self._look()
            position = self._end
        yield self._mark("begin", position)
        while True:
            news = self._news
            while (batch := await self._batch(position)) is not None:
                position = batch.next
                yield batch.data
            if self._over and position >= self._end:
                yield self._mark("end", position)
                return
            await news.wait()

    def _mark(self, kind: str, position: int) -> bytes:
        """An event without rows that says where the listener stands; of the same form as those with rows."""
        cursor = self.results.cursor(position)
        return json_event(kind, {"rows": [], "next": cursor}, cursor)

    async def _batch(self, position: int) -> Batch | None:
        """The batch at a position; None if there are no rows yet."""
        if position not in self._batches and (self._stale or position > self._end):
            await self._look()
        if (kept := self._batches.get(position)) is not None:
            return kept
        if position >= self._end:
            return None
        task = self._loading.get(position)
        if task is None:
            task = self._loading[position] = asyncio.create_task(self._load(position))
            task.add_done_callback(lambda _: self._loading.pop(position, None))
        return await asyncio.shield(task)

    async def _look(self) -> None:
        """Find out how many rows there are, once for all who want to know."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._looked())
        await asyncio.shield(self._looking)

    async def _looked(self) -> None:
        self._stale = False
        before = self._end
        end, over, batch = await run_in_threadpool(self._found, before)
        self._end, self._over = end, over and not self._stale
        if batch is not None:
            self._keep(before, batch)

    def _found(self, before: int) -> tuple[int, bool, Batch | None]:
        """How many rows there are, whether that was all, and the batch for those who have had all until now."""
        assert self._new is not None
        asks = not self._new.take() or self._ended
        over = asks and self.results.over() and not self._new.take()
        end = self._new.end_row
        return end, over, self._encoded(before, end) if end > before >= self._new.first_row else None

    async def _load(self, position: int) -> Batch | None:
        batch = await run_in_threadpool(self._encoded, position, self._end)
        if batch is not None:
            self._keep(position, batch)
        return batch

    def _encoded(self, position: int, end: int) -> Batch | None:
        assert self._new is not None
        limit = min(ROWS - position % ROWS, end - position)
        table = self._new.rows(position, limit)
        if table is None:
            table, _ = self.results.read(position, limit)
        if not table.num_rows:
            return None
        after = position + table.num_rows
        cursor = self.results.cursor(after)
        return Batch(event("rows", f'{{"rows":[{",".join(json_rows(table))}],"next":"{cursor}"}}', cursor), after)

    def _keep(self, position: int, batch: Batch) -> None:
        self._batches[position] = batch
        self._bytes += len(batch.data)
        while self._bytes > KEPT and len(self._batches) > 1:
            _, oldest = self._batches.popitem(last=False)
            self._bytes -= len(oldest.data)


class ResultsHub:
    """The feeds of all queries that somebody listens to."""

    def __init__(self) -> None:
        self._feeds: dict[tuple[str, str], ResultsFeed] = {}

    async def listen(self, results: Results, position: int | None) -> AsyncGenerator[bytes, None]:
        """What one listener of a query gets."""
        key = (results.names.tenant, results.whole)
        feed = self._feeds.setdefault(key, ResultsFeed(results))
        feed.listeners += 1
        try:
            await feed.begin()
            async with aclosing(feed.events(position)) as events:
                async for data in events:
                    yield data
        except HeadgateError as error:  # the query was removed with its results, or the engine ends
            yield json_event("error", {"detail": own_words(str(error), results.names.tenant)})
        finally:
            feed.listeners -= 1
            if not feed.listeners:
                self._feeds.pop(key, None)
                feed.end()
