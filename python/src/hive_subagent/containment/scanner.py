"""Takes snapshots for all runs together, and reaps what this process has adopted.

Ends come in swarms; one snapshot serves all that wait for one, and snapshots keep a pause as
long as themselves, so that at most half of a CPU goes into them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from hive_subagent.containment import pidfd, proc
from hive_subagent.containment.marker import MarkReader
from hive_subagent.containment.proc import Process
from hive_subagent.containment.roll import Roll, Sorted


class Scanner:
    """The one place that walks `/proc`."""

    def __init__(
        self, roll: Roll, marks: MarkReader, *, on_reaped: Callable[[str, Process], None]
    ) -> None:
        self._roll = roll
        self._marks = marks
        self._on_reaped = on_reaped
        self._last = Sorted()
        self._last_at = float("-inf")
        self._last_took = 0.0
        self._next: asyncio.Future[Sorted] | None = None

    def now(self) -> Sorted:
        """Take a snapshot, judge it, reap the dead it shows."""
        began = time.monotonic()
        processes = proc.snapshot()
        result = self._roll.sort(processes)
        self._marks.forget_the_gone(processes)
        self._reap(result)
        self._last, self._last_at = result, time.monotonic()
        self._last_took = self._last_at - began
        return result

    def recent(self, max_age_s: float) -> Sorted:
        """A snapshot that is not older than this."""
        if time.monotonic() - self._last_at <= max_age_s:
            return self._last
        return self.now()

    async def fresh(self) -> Sorted:
        """A snapshot begun after this call; those who ask meanwhile share it."""
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            pause = self._last_at + self._last_took - time.monotonic()
            loop.call_later(max(0.0, pause), self._serve)
        return await asyncio.shield(self._next)

    def _serve(self) -> None:
        waiting, self._next = self._next, None
        if waiting is None or waiting.cancelled():
            return
        try:
            waiting.set_result(self.now())
        except Exception as error:  # those who wait must hear of it
            waiting.set_exception(error)

    def reap_adopted(self) -> None:
        """Reap the dead among our direct children, looking at nothing else."""
        pids = proc.children(self._roll.own.pid)
        if pids is None:
            self.now()
            return
        found = (proc.look(pid) for pid in pids)
        dead = {p.pid: p for p in found if p is not None and not p.alive}
        if dead:
            self._reap(self._roll.sort(dead, whole=False))

    def _reap(self, result: Sorted) -> None:
        for owner, process in result.reapable:
            if pidfd.reap(process.pid):
                self._roll.forget(process)
                self._marks.forget(process)
                self._on_reaped(owner, process)
