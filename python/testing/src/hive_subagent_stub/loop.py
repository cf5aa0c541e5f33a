"""The one place that waits: stdin, signals, the children's descriptors and the clock together."""

from __future__ import annotations

import os
import select
import signal
import time

from hive_subagent_stub._types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

    from hive_subagent_stub.output import Output


class Loop:
    """Turns the outside into lines, a list of signals and ready descriptors."""

    def __init__(self, out: Output) -> None:
        self.out = out
        self.signals: list[int] = []
        self.eof = False
        self.reading = True
        self.on_line: Callable[[bytes], None] = lambda _: None
        self.on_idle: Callable[[], None] = lambda: None
        self.partial = bytearray()
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def catch(self, *numbers: int) -> None:
        """Collect these signals instead of dying by them."""
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.signals.append(number)

    def pump(self, until: float | None, fds: Iterable[int] = ()) -> set[int]:
        """Wait once, at most to `until` (monotonic seconds; None: for ever), and take what came.

        Returns the ready ones of `fds`. Comes back early for a line, a signal or output that moved.
        """
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        watched = set(fds)
        for fd in watched:
            poll.register(fd, select.POLLIN)
        if self.reading and not self.eof:
            poll.register(0, select.POLLIN)
        if self.out.waiting:
            poll.register(self.out.fd, select.POLLOUT)
        wait = None if until is None else max(0.0, until - time.monotonic()) * 1000
        ready = {fd for fd, _ in poll.poll(wait)}
        if self._wake_read in ready:
            os.read(self._wake_read, 4096)
        if self.out.waiting:
            self.out.flush()
        if 0 in ready:
            self._read_stdin()
        return ready & watched

    def _read_stdin(self) -> None:
        try:
            data = os.read(0, 1 << 20)
        except OSError:
            data = b""
        if not data:
            self.eof = True
            if self.partial:
                data, self.partial = bytes(self.partial), bytearray()
                self.on_line(data)
            return
        self.partial += data
        if b"\n" in data:
            *lines, rest = self.partial.split(b"\n")
            self.partial = bytearray(rest)
            for each in lines:
                self.on_line(bytes(each))

    def drain(self, seconds: float | None = None) -> None:
        """Wait until the reader took everything, at most `seconds`."""
        until = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()
        poll.register(self.out.fd, select.POLLOUT)
        while self.out.waiting:
            left = None if until is None else (until - time.monotonic()) * 1000
            if left is not None and left <= 0:
                return
            poll.poll(left)
            self.out.flush()
