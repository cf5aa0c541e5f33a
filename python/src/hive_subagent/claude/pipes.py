"""What comes out of a claude: its two pipes, read as they fill."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from hive_subagent.claude import protocol
from hive_subagent.claude.bounds import Excess
from hive_subagent.claude.conversation import Conversation
from hive_subagent.claude.framing import MAX_LINE, LineFramer
from hive_subagent.claude.stream import Batch

log = logging.getLogger(__name__)

PIPE_SIZE = 262144
"""Bytes that asyncio reads at most in one go; the kernel's own default is a quarter of that."""

STDERR_KEPT = 64 * 1024
"""Bytes of the end of stderr that are kept for the error."""


class Stdout(asyncio.Protocol):
    """Reads always, so that the pipe never fills; a reader that breaks says so and stops."""

    def __init__(self, conversation: Conversation, changed: Callable[[], None]) -> None:
        self.framer = LineFramer()
        self.broken: str | None = None
        self.ended = False
        self._conversation = conversation
        self._changed = changed

    def data_received(self, data: bytes) -> None:
        if self.broken is not None:
            return
        skipped = self.framer.skipped
        try:
            lines = self.framer.feed(data)
            if self.framer.skipped > skipped:
                self._tell_skipped(self.framer.skipped_head)
            if lines:
                self._conversation.take(Batch(lines, data))
            else:
                self._conversation.alive()
        except Excess as error:
            self.broken = str(error)
            self._changed()
        except Exception as error:  # a dead reader must end the run, not look alive
            self.broken = f"reading claude's output failed: {error!r}"
            self._changed()

    def _tell_skipped(self, head: bytes) -> None:
        log.warning("a line of claude over %d bytes is left out: %r...", MAX_LINE, head)
        if protocol.is_result(head):
            # claude waits for a next message after it, and we would wait for it
            raise ValueError(f"its result is a line of over {MAX_LINE} bytes")

    def last_line(self) -> None:
        """Take a last line that is whole, but for its line end: nothing more comes to it."""
        with suppress(Excess):  # cut or not, a line like that is no result
            if protocol.parse(self.framer.tail) is not None:
                self.data_received(b"\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self.last_line()
        self.ended = True
        self._changed()


class Stderr(asyncio.Protocol):
    """Keeps the end of it; whatever is said there is a sign of life."""

    def __init__(self, conversation: Conversation, changed: Callable[[], None]) -> None:
        self.tail = bytearray()
        self.ended = False
        self._conversation = conversation
        self._changed = changed

    def data_received(self, data: bytes) -> None:
        self._conversation.alive()
        self.tail += data
        if len(self.tail) > 2 * STDERR_KEPT:
            del self.tail[:-STDERR_KEPT]

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self._changed()


def widen(pipe: IO[bytes] | None) -> None:
    """Let a pipe hold as much as is read in one go, where the kernel allows it."""
    if pipe is not None:
        with suppress(OSError):  # a user has a limit for all pipes together
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, PIPE_SIZE)


def unread(pipe: int) -> int:
    """How many bytes lie in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
