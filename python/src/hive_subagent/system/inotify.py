"""Notification of changed files and directories: inotify, one descriptor for many watches."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import struct
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)

MODIFIED = 0x2
"""The file was written to."""

WRITTEN_OR_MOVED_IN = 0x8 | 0x80
"""In a directory: a file that was open for writing was closed, or one was renamed into it."""

_HEADER = struct.Struct("iIII")


class Watches:
    """Calls back on the running loop after a change, also of the events files of cgroup v2.

    Changes between two reads may be reported once. Where the kernel gives no descriptor nothing is
    ever reported, and callers read for themselves.
    """

    def __init__(self) -> None:
        self._fd: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._libc = ctypes.CDLL(None, use_errno=True)

    def add(self, path: Path, changed: Callable[[], None], *, mask: int = MODIFIED) -> int | None:
        """Watch a file or directory; returns a handle, or None where that is not possible."""
        if not self._open():
            return None
        watch: int = self._libc.inotify_add_watch(self._fd, os.fsencode(path), mask)
        if watch < 0:
            return None
        self._callbacks[watch] = changed
        return watch

    def remove(self, watch: int | None) -> None:
        """Stop watching. The descriptor stays: to close one takes the kernel 8 ms."""
        if watch is None or self._callbacks.pop(watch, None) is None or self._fd is None:
            return
        self._libc.inotify_rm_watch(self._fd, watch)

    def _open(self) -> bool:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if self._fd is not None and self._loop is not loop:
            self._close()
        if self._fd is None:
            fd: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            if fd < 0:
                return False
            self._fd, self._loop = fd, loop
            loop.add_reader(fd, self._read)
        return True

    def _close(self) -> None:
        if self._fd is not None and self._loop is not None:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._fd)
            os.close(self._fd)
        self._fd = self._loop = None
        self._callbacks.clear()

    def _read(self) -> None:
        if self._fd is None:
            return
        with contextlib.suppress(BlockingIOError):
            events = os.read(self._fd, 65536)
            changed: set[int] = set()
            while events:
                watch, _, _, length = _HEADER.unpack_from(events)
                events = events[_HEADER.size + length :]
                # -1: there were more than the kernel keeps, so that any may have changed
                changed |= {watch} if watch >= 0 else set(self._callbacks)
            for watch in changed:
                if (callback := self._callbacks.get(watch)) is not None:
                    self._call(callback)

    @staticmethod
    def _call(callback: Callable[[], None]) -> None:
        try:
            callback()
        except Exception:  # one that fails must not cost the others what was read for them
            log.exception("a change of a file could not be followed")
