"""Events of runs: for those who follow them all, and for sinks that ask for beginnings and ends.

To a sink each is sent once, in order, and never waited for. A notice is owed; an event is not. A
sink that is slow or gone loses events; the next one says how many.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import anyio

from hive_subagent.models.notices import RunEvent
from hive_subagent.outbox.event_journal import Event
from hive_subagent.outbox.sinks import NotAccepted

CAPACITY = 1024
"""Events that wait for one reader; what comes beyond that it misses."""

log = logging.getLogger(__name__)


class Reader(Protocol):
    """A sink that asked for events."""

    @property
    def key(self) -> str:
        """Where it is, for the log."""

    async def send(self, name: str, line: bytes) -> None:
        """Hand over one line. Raises NotAccepted."""


class EventFeed:
    """Takes events at once and hands each to every reader in the background."""

    def __init__(
        self,
        readers: Iterable[Reader] = (),
        *,
        capacity: int = CAPACITY,
        followers: Sequence[Callable[[Event], None]] = (),
    ) -> None:
        self.dropped = 0
        """Events that a sink did not get, in all."""
        self.stream_bytes = 0
        """Bytes that claude printed in all runs."""
        self._followers = followers
        self._queues = [_Queue(reader, capacity, self._count_lost) for reader in readers]

    def emit(self, event: RunEvent) -> None:
        """Log it and queue it; never waits and never fails."""
        log.info("%s", event.model_dump_json(exclude_none=True, exclude={"missed"}))
        self.publish(event)
        for queue in self._queues:
            queue.put(event)

    def publish(self, event: Event) -> None:
        """Hand it to the followers only; never waits and never fails."""
        for follower in self._followers:
            try:
                follower(event)
            except Exception:  # no event is worth a run
                log.exception("%r does not take event %s", follower, event.event)

    def count_bytes(self, size: int) -> None:
        """A run's claude has printed so many bytes more."""
        self.stream_bytes += size

    def _count_lost(self) -> None:
        self.dropped += 1

    async def run(self) -> None:
        """Deliver until cancelled."""
        async with anyio.create_task_group() as tasks:
            for queue in self._queues:
                tasks.start_soon(queue.run)

    async def drain(self, timeout_s: float) -> None:
        """Wait until nothing waits any more, for at most `timeout_s` seconds."""
        with anyio.move_on_after(timeout_s):
            for queue in self._queues:
                await queue.emptied()


class _Queue:
    def __init__(self, reader: Reader, capacity: int, lost: Callable[[], None]) -> None:
        self._lost = lost
        self._reader = reader
        self._capacity = capacity
        self._waiting: deque[RunEvent] = deque()
        self._missed = 0
        self._reason: str | None = None
        self._changed = anyio.Event()
        self._empty = anyio.Event()
        self._empty.set()

    def put(self, event: RunEvent) -> None:
        if len(self._waiting) >= self._capacity:
            self._missed += 1
            self._lost()
            return
        if self._missed:
            event, self._missed = event.model_copy(update={"missed": self._missed}), 0
        self._waiting.append(event)
        if self._empty.is_set():
            self._empty = anyio.Event()
        self._changed.set()

    async def emptied(self) -> None:
        await self._empty.wait()

    async def run(self) -> None:
        while True:
            if not self._waiting:
                self._empty.set()
                self._changed = anyio.Event()
                await self._changed.wait()
            event = self._waiting.popleft()
            reason = await self._offer(event)
            if reason is not None:
                self._lost()
                # not tried again: what comes next says how many went before
                lost = 1 + event.missed
                if self._waiting:
                    first = self._waiting[0]
                    self._waiting[0] = first.model_copy(update={"missed": first.missed + lost})
                else:
                    self._missed += lost
            if reason != self._reason:
                self._reason = reason
                if reason:
                    log.warning("todo sink does not take events, it misses them: %s", reason)
                else:
                    log.info("todo sink %s takes events again", self._reader.key)

    async def _offer(self, event: RunEvent) -> str | None:
        line = event.model_dump_json().encode() + b"\n"
        try:
            await self._reader.send(f"{event.id}.{event.event}", line)
        except NotAccepted as failure:
            return str(failure)
        except Exception as error:  # a fault in one reader must not cost the others
            log.exception("todo sink %s failed at an event", self._reader.key)
            return f"{self._reader.key}: {type(error).__name__}"
        return None
