"""The queues of the sinks: notices in the order of their endings, tried until they are taken."""

from __future__ import annotations

import heapq
import logging
import random
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import partial

import anyio

from hive_subagent.models.notices import Notice
from hive_subagent.outbox.sinks import NotAccepted, Sink

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0

logger = logging.getLogger(__name__)


class Delivery:
    """Delivers to one sink, one notice at a time; memory holds ids, `read` gives the notice.

    `read` returns None for one that is gone, and raises OSError for one that cannot be read now.

    Every failure is followed by a pause that doubles; a success ends that. A sink that cannot be
    reached keeps its queue in order. A notice that a reachable sink does not take lets the others
    go first, so that it cannot hold them up.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        read: Callable[[str], Notice | None],
        accepted: Callable[[str], None],
        first_pause_s: float = FIRST_PAUSE_S,
        longest_pause_s: float = LONGEST_PAUSE_S,
    ) -> None:
        self.waiting: set[str] = set()
        self._sink = sink
        self._read = read
        self._accepted = accepted
        self._first_pause_s = first_pause_s
        self._longest_pause_s = longest_pause_s
        self._queue: list[tuple[float, str]] = []
        self._refused: list[tuple[float, str]] = []
        self._added = anyio.Event()
        self._one_at_a_time = anyio.Lock()
        self.problem: str | None = None

    def add(self, notice_id: str, at: str) -> None:
        """Queue a notice by its id; `at` (RFC 3339) is its place in the order."""
        self.waiting.add(notice_id)
        heapq.heappush(self._queue, (_moment(at), notice_id))
        self._added.set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        pause_s = self._first_pause_s
        while True:
            if not self.waiting:
                self._added = anyio.Event()
                await self._added.wait()
            async with self._one_at_a_time:
                failure = await self._attempt()
            if failure is None:
                pause_s = self._first_pause_s
            else:
                # jitter, so that sinks which failed together do not come back together
                await anyio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311
                pause_s = min(pause_s * 2, self._longest_pause_s)

    async def drain(self) -> None:
        """Try what waits once, without pauses; ends early when the sink cannot be reached."""
        async with self._one_at_a_time:
            self._queue += self._refused
            self._refused = []
            heapq.heapify(self._queue)
            for _ in range(len(self.waiting)):
                failure = await self._attempt()
                if failure is not None and not failure.reached:
                    return

    async def _attempt(self) -> NotAccepted | None:
        """Offer the next notice. Returns the failure, None when it was taken or none waits."""
        if not self._queue:
            self._queue, self._refused = self._refused, []
            if not self._queue:
                return None
        entry = self._queue[0]
        notice_id = entry[1]
        failure: NotAccepted | None
        try:
            notice = self._read(notice_id)
        except OSError as error:
            failure = NotAccepted(f"notice {notice_id} cannot be read: {error}", reached=True)
        else:
            if notice is None:
                self._take_out(entry)
                self.waiting.discard(notice_id)
                return None
            failure = await self._offer(notice)
        if failure is None:
            self._take_out(entry)
            self.waiting.discard(notice_id)
            self._accepted(notice_id)
        elif failure.reached:
            self._take_out(entry)
            heapq.heappush(self._refused, entry)
        self._tell(failure)
        return failure

    def _take_out(self, entry: tuple[float, str]) -> None:
        if self._queue[0] == entry:
            heapq.heappop(self._queue)
        else:  # a notice that was added meanwhile belongs before this one
            self._queue.remove(entry)
            heapq.heapify(self._queue)

    async def _offer(self, notice: Notice) -> NotAccepted | None:
        try:
            await self._sink.deliver(notice)
        except NotAccepted as failure:
            return failure
        except (
            Exception
        ) as error:  # a fault in one sink must cost neither the others nor the daemon
            logger.exception("todo sink %s failed at notice %s", self._sink.key, notice.id)
            return NotAccepted(f"{self._sink.key}: {type(error).__name__}", reached=True)
        return None

    def _tell(self, failure: NotAccepted | None) -> None:
        """Log what changed, not every attempt."""
        reason = str(failure) if failure else None
        if reason != self.problem:
            self.problem = reason
            if reason:
                logger.warning("todo sink does not take notices, trying again: %s", reason)
            else:
                logger.info("todo sink %s takes notices again", self._sink.key)


class Deliveries:
    """The queues of all sinks; false where there is none."""

    def __init__(
        self,
        sinks: Iterable[Sink],
        *,
        read: Callable[[str], Notice | None],
        accepted: Callable[[str, str], None],
        pauses_s: tuple[float, float],
    ) -> None:
        """`accepted` is called with the key of a sink and the id of a notice that it has taken."""
        first, longest = pauses_s
        self._by_sink = {
            sink.key: Delivery(
                sink,
                read=read,
                accepted=partial(accepted, sink.key),
                first_pause_s=first,
                longest_pause_s=longest,
            )
            for sink in sinks
        }

    def __bool__(self) -> bool:
        return bool(self._by_sink)

    @property
    def waiting(self) -> Mapping[str, Collection[str]]:
        """For each sink, by its key, the ids of the notices that it has yet to take."""
        return {key: delivery.waiting for key, delivery in self._by_sink.items()}

    @property
    def problems(self) -> Mapping[str, str | None]:
        """For each sink why it did not take what it was offered last; None where it did."""
        return {key: delivery.problem for key, delivery in self._by_sink.items()}

    @property
    def pending(self) -> int:
        """How many notices at least one sink has not taken yet."""
        return len(set().union(*self.waiting.values()))

    def waits(self, notice_id: str) -> bool:
        """Whether some sink has yet to take it."""
        return any(notice_id in delivery.waiting for delivery in self._by_sink.values())

    def add(self, notice: Notice, *, accepted: Collection[str] = ()) -> None:
        """Queue a notice for every sink but those that have `accepted` it."""
        for key, delivery in self._by_sink.items():
            if key not in accepted:
                delivery.add(notice.id, notice.at)

    async def run(self) -> None:
        """Deliver until cancelled: one task per sink."""
        async with anyio.create_task_group() as tasks:
            for delivery in self._by_sink.values():
                tasks.start_soon(delivery.run)

    async def drain(self) -> None:
        """Try everything that waits once more."""
        async with anyio.create_task_group() as tasks:
            for delivery in self._by_sink.values():
                tasks.start_soon(delivery.drain)


def _moment(at: str) -> float:
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0
