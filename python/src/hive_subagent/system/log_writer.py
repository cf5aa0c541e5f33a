"""Writes lines to a file descriptor that perhaps nobody reads, without ever blocking for long.

A full pipe, a stopped terminal or a hanging disk would otherwise stop whoever logs, and that is
the event loop.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from contextlib import suppress

MOST_BYTES = 1 << 20
"""Bytes that wait to be written; a line beyond them is dropped and counted."""

PATIENCE_S = 0.02
"""Seconds that one line may cost its caller where the writing stalls; further ones cost nothing."""

_AT_ONCE = 64 * 1024


class LogWriter:
    """Writes in a thread of its own, which begins with the first line.

    As long as the writing keeps up, `write` returns once the line is written: whoever looks at the
    log after an event finds what was logged before it.
    """

    def __init__(self, descriptor: int, *, most_bytes: int = MOST_BYTES) -> None:
        self._descriptor = descriptor
        self._most_bytes = most_bytes
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._size = 0  # of what waits and of what is being written
        self._dropped = 0
        self._stalled = False
        self._thread: threading.Thread | None = None

    def write(self, line: bytes) -> None:
        """Have one line written, its end included; it is dropped where too much waits."""
        with self._changed:
            if self._thread is None:
                # a daemon thread: one that hangs in a write must not keep the process alive
                self._thread = threading.Thread(target=self._run, name="log", daemon=True)
                self._thread.start()
            if self._size + len(line) > self._most_bytes:
                self._dropped += 1
                return
            self._waiting.append(line)
            self._size += len(line)
            self._changed.notify_all()
            if not self._stalled:
                self._stalled = not self._changed.wait_for(self._is_done, PATIENCE_S)

    def flush(self, timeout_s: float) -> bool:
        """Wait until all is written, for so long at most; returns whether it is."""
        with self._changed:
            return self._changed.wait_for(self._is_done, timeout_s)

    def _is_done(self) -> bool:
        return not self._size

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                lines = [self._waiting.popleft()]
                size = len(lines[0])
                while self._waiting and size + len(self._waiting[0]) <= _AT_ONCE:
                    lines.append(self._waiting.popleft())
                    size += len(lines[-1])
            written = self._write_all(b"".join(lines))
            with self._changed:
                self._size -= size
                if not written:
                    self._dropped += len(lines)
                elif self._dropped and not self._waiting:
                    report = _report(self._dropped)
                    self._dropped = 0
                    self._waiting.append(report)
                    self._size += len(report)
                if not self._size:
                    self._stalled = False
                self._changed.notify_all()

    def _write_all(self, data: bytes) -> bool:
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:  # somebody else made it non-blocking
                with suppress(OSError):
                    poll = select.poll()
                    poll.register(self._descriptor, select.POLLOUT)
                    poll.poll()
            except OSError:  # its reader is gone, or its disk is full
                return False
        return True


def _report(dropped: int) -> bytes:
    lost = f"{dropped} lines before this one were dropped"
    return f"WARNING {__name__}: {lost}\n".encode()
