"""Takes snapshots for all runs together, and reaps what this process has adopted, one by one.

Ends come in swarms: one snapshot serves all that wait for one, and when they follow each other
for long they keep pauses as long as themselves, so that at most half of a CPU goes into them.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import time
from collections.abc import Callable

from hive_subagent.containment import proc, termination
from hive_subagent.containment.marker import MarkReader
from hive_subagent.containment.ownership import Entry, Ownership, Sorted
from hive_subagent.containment.proc import Process

logger = logging.getLogger(__name__)

_PR_SET_CHILD_SUBREAPER = 36

_CREDIT_S = 0.05  # of snapshots without a pause
_UNTIDY = 1000  # remembered processes beyond those that were there at the last snapshot


class Scanner:
    """The one place that walks `/proc`."""

    def __init__(
        self, ownership: Ownership, marks: MarkReader, *, on_reaped: Callable[[str, Process], None]
    ) -> None:
        self._ownership = ownership
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
        result = self._ownership.sort(processes)
        self._marks.forget_the_gone(processes)
        self._tidy_at = 2 * len(processes) + _UNTIDY
        self._reap(result)
        ended = time.monotonic()
        self._debt_s = max(0.0, self._debt_s - (ended - self._last_at)) + ended - began
        self._last_at = ended
        return result

    async def fresh(self) -> Sorted:
        """A snapshot begun after this call; calls made meanwhile share it."""
        if self._next is None:
            self._next = asyncio.create_task(self._serve(), name="snapshot")
        return await asyncio.shield(self._next)

    async def _serve(self) -> Sorted:
        await asyncio.sleep(self._debt_s - (time.monotonic() - self._last_at) - _CREDIT_S)
        async with self.turn:  # behind the runs that queue for theirs and are about to ask, too
            self._next = None
            return self.now()

    def near(self, entry: Entry, *, adopted_max_age_s: float = 0.0) -> Sorted:
        """What hangs under the root of one run, and what this process has adopted."""
        adopted = self._adopted(adopted_max_age_s)
        root = [entry.root.pid] if entry.root is not None else []
        processes = None if adopted is None else proc.trees([*adopted, *root])
        if processes is None or len(self._ownership.seen) > self._tidy_at:
            return self.now()
        result = self._ownership.sort(processes, whole=False)
        self._reap(result)
        return result

    def _adopted(self, max_age_s: float) -> list[int] | None:
        """Our children that are nobody's root; one listing serves many runs."""
        if time.monotonic() - self._listed_at > max_age_s:
            listed = proc.children(self._ownership.own.pid)
            roots = {e.root.pid for e in self._ownership.runs.values() if e.root is not None}
            self._listed = None if listed is None else [pid for pid in listed if pid not in roots]
            self._listed_at = time.monotonic()
        return self._listed

    def reap_adopted(self) -> None:
        """Reap the dead among our direct children, looking at nothing else."""
        pids = proc.children(self._ownership.own.pid)
        if pids is None:
            self.now()
            return
        found = (proc.look(pid) for pid in pids)
        dead = {p.pid: p for p in found if p is not None and not p.alive}
        if dead:
            self._reap(self._ownership.sort(dead, whole=False))

    def _reap(self, result: Sorted) -> None:
        for owner, process in result.reapable:
            if termination.reap(process.pid):
                self._ownership.forget(process)
                self._marks.forget(process)
                self._on_reaped(owner, process)


def become_subreaper() -> None:
    """Have orphans below this process become its children. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


class Reaper:
    """Reaps after SIGCHLD, a little later and for many at once, and at a slow heartbeat.

    SIGCHLD says only that somebody died, so every pass looks at all children, and a signal that
    was merged into another loses nothing. The heartbeat is for a signal that never came, and
    for `progress`: the monotonic time of the last pass, for a watchdog.
    """

    def __init__(
        self, reap: Callable[[], None], *, heartbeat_s: float = 5.0, debounce_s: float = 0.05
    ) -> None:
        self._reap = reap
        self._heartbeat_s = heartbeat_s
        self._debounce_s = debounce_s
        self._died = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._handles_signal = False
        self.progress = time.monotonic()

    def start(self) -> None:
        """Begin, on the running loop."""
        if self._task is not None:
            return
        loop = asyncio.get_running_loop()
        try:
            loop.add_signal_handler(signal.SIGCHLD, self._died.set)
            self._handles_signal = True
        except (RuntimeError, ValueError):  # not the main thread: the heartbeat has to do
            logger.warning(
                "no SIGCHLD outside the main thread; reaping every %g s", self._heartbeat_s
            )
        self._task = asyncio.create_task(self._run(), name="reaper")

    async def stop(self) -> None:
        """End, after one last pass."""
        if self._task is None:
            return
        task, self._task = self._task, None
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        if self._handles_signal:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGCHLD)
            self._handles_signal = False
        self._reap()

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._heartbeat_s):
                    await self._died.wait()
                await asyncio.sleep(self._debounce_s)
            self._died.clear()
            try:
                self._reap()
            except Exception:  # the watchdog sees a reaper that no longer makes progress
                logger.exception("reaping failed")
            else:
                self.progress = time.monotonic()
