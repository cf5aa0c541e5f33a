"""Stdout as the CLI uses it: written without waiting for the reader, kept in memory till then."""

from __future__ import annotations

import json
import os
import select
import stat

from hive_subagent_stub._types import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def line(message: Json) -> bytes:
    """One JSON line: U+2028 escaped, U+0085 raw, lone surrogates as escapes, as the CLI does."""
    text = _encode(message).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text.encode("utf-8", "backslashreplace") + b"\n"


class Output:
    """A descriptor with a buffer before it. A reader that went away is not an error."""

    def __init__(self, fd: int = 1) -> None:
        self.fd = fd
        self._extra = -1
        self._pending = bytearray()
        self._broken = False
        self.muted = False  # text and json output: lines are not printed
        mode = os.fstat(fd).st_mode
        self._file = stat.S_ISREG(mode) or stat.S_ISCHR(mode)
        if stat.S_ISFIFO(mode):
            # a description of its own: O_NONBLOCK on ours would be the spawner's too
            try:
                self._extra = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                self._extra = -1
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    @property
    def waiting(self) -> int:
        """Bytes that the reader has not made room for."""
        return len(self._pending)

    def emit(self, message: Json) -> None:
        """Print one message."""
        if not self.muted:
            self.write(line(message))

    def write(self, data: bytes) -> None:
        """Append bytes and write what fits now."""
        if self._broken:
            return
        self._pending += data
        self.flush()

    def flush(self) -> None:
        """Write what fits without waiting."""
        while self._pending and not self._broken:
            size = self._write_some()
            if size == 0:
                return
            del self._pending[:size]

    def _write_some(self) -> int:
        try:
            if self._extra >= 0:
                return os.write(self._extra, memoryview(self._pending)[:262144].tobytes())
            if self._file:
                return os.write(self.fd, bytes(self._pending))
            # poll promises room for PIPE_BUF bytes, no more
            return os.write(self.fd, self._pending[:4096]) if self._poll.poll(0) else 0
        except BlockingIOError:
            return 0
        except OSError:
            self._broken = True
            self._pending.clear()
            return 0

    def close(self) -> None:
        """Close stdout; what is printed later is lost."""
        self.flush()
        self._broken = True
        for fd in (self.fd, self._extra):
            if fd >= 0:
                os.close(fd)
        self._extra = -1
