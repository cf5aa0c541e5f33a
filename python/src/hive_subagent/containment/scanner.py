"""Takes snapshots for all runs together, and reaps what this process has adopted.

Ends come in swarms: one snapshot serves all that wait for one, and when they follow each other
for long they keep pauses as long as themselves, so that at most half of a CPU goes into them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from hive_subagent.containment import pidfd, proc
from hive_subagent.containment.marker import MarkReader
from hive_subagent.containment.ownership import Entry, Ownership, Sorted
from hive_subagent.containment.proc import Process

_CREDIT_S = 0.05  # of snapshots without a pause
_UNTIDY = 1000  # remembered processes beyond those that were there at the last snapshot


class Scanner:
    """The one place that walks `/proc`."""

    def __init__(
        self, roll: Ownership, marks: MarkReader, *, on_reaped: Callable[[str, Process], None]
    ) -> None:
        self._roll = roll
        self._marks = marks
        self._on_reaped = on_reaped
        self._last_at = time.monotonic()
        self._debt_s = 0.0
        self._tidy_at = _UNTIDY
        self._listed: list[int] | None = None
        self._listed_at = float("-inf")
        # where many runs end at once, one step of one run for each turn of the loop
        self.turn = asyncio.Lock()
        self._next: asyncio.Task[Sorted] | None = None

    def now(self) -> Sorted:
        """Take a snapshot, judge it, reap the dead it shows."""
        began = time.monotonic()
        processes = proc.snapshot()
        result = self._roll.sort(processes)
        self._marks.forget_the_gone(processes)
        self._tidy_at = 2 * len(processes) + _UNTIDY
        self._reap(result)
        ended = time.monotonic()
        self._debt_s = max(0.0, self._debt_s - (ended - self._last_at)) + ended - began
        self._last_at = ended
        return result

    async def fresh(self) -> Sorted:
        """A snapshot begun after this call; those who ask meanwhile share it."""
        if self._next is None:
            self._next = asyncio.create_task(self._serve(), name="snapshot")
        return await asyncio.shield(self._next)

    async def _serve(self) -> Sorted:
        await asyncio.sleep(self._debt_s - (time.monotonic() - self._last_at) - _CREDIT_S)
        async with self.turn:  # behind those who queue for theirs and are about to ask, too
            self._next = None
            return self.now()

    def near(self, entry: Entry, *, adopted_max_age_s: float = 0.0) -> Sorted:
        """What hangs under the root of one run, and what this process has adopted."""
        adopted = self._adopted(adopted_max_age_s)
        root = [entry.root.pid] if entry.root is not None else []
        processes = None if adopted is None else proc.trees([*adopted, *root])
        if processes is None or len(self._roll.seen) > self._tidy_at:
            return self.now()
        result = self._roll.sort(processes, whole=False)
        self._reap(result)
        return result

    def _adopted(self, max_age_s: float) -> list[int] | None:
        """Our children that are nobody's root; one listing serves many runs."""
        if time.monotonic() - self._listed_at > max_age_s:
            listed = proc.children(self._roll.own.pid)
            roots = {e.root.pid for e in self._roll.runs.values() if e.root is not None}
            self._listed = None if listed is None else [pid for pid in listed if pid not in roots]
            self._listed_at = time.monotonic()
        return self._listed

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
