"""The daemon as the parent of orphans: it adopts them, and reaps them one by one."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

_PR_SET_CHILD_SUBREAPER = 36


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
