"""The daemon's log: one line for each message, bounded in number, and never waited for.

A full pipe, a stopped terminal or a hanging disk would otherwise stop the writer of a message, and
that is the event loop.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import select
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from io import UnsupportedOperation

import anyio
from starlette.requests import ClientDisconnect

from hive_subagent.system.sanitize import on_one_line

LAST_LINES_S = 1.0
"""Seconds that the last lines may take at the end."""

MOST_BYTES = 1 << 20
"""Bytes that wait to be written; a line beyond them is dropped and counted."""

STALL_S = 0.02
"""Seconds that one line may cost its caller where the writing stalls; further ones cost nothing."""

_AT_ONCE = 64 * 1024

# these run on behalf of callers; the daemon's own messages are each meant
_LIBRARIES = frozenset({"asyncio", "mcp", "sse_starlette", "starlette", "uvicorn"})

_GONE = (
    asyncio.CancelledError,
    ConnectionError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    ClientDisconnect,
)


class OneLine(logging.Formatter):
    """A message cannot begin a line of its own, nor act on the terminal that shows it.

    It may hold names, commands and words of subagents. The lines of a trace are set in.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (logging's name)
        return on_one_line(super().formatMessage(record))

    def formatException(self, ei: object) -> str:  # noqa: N802
        return _set_in(super().formatException(ei))  # type: ignore[arg-type]

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        return _set_in(super().formatStack(stack_info))


class BackgroundHandler(logging.Handler):
    """Hands each record to a writer, so that no record waits for a reader of the log."""

    def __init__(self, writer: LogWriter) -> None:
        super().__init__()
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; one that cannot be formatted becomes a line that says so."""
        try:
            text = self.format(record)
        except Exception as error:
            # logging's own answer is a trace on stderr, which may block
            text = on_one_line(f"ERROR {record.name}: cannot format {record.msg!r}: {error!r}")
        self._writer.write(f"{text}\n".encode("utf-8", "backslashreplace"))


class LogWriter:
    """Writes in a thread of its own, which begins with the first line.

    As long as the writing keeps up, `write` returns once the line is written: a reader of the
    log finds after an event what was logged before it.
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
                self._stalled = not self._changed.wait_for(self._is_done, STALL_S)

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
                    line = _dropped_line(self._dropped)
                    self._dropped = 0
                    self._waiting.append(line)
                    self._size += len(line)
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


def _dropped_line(dropped: int) -> bytes:
    lost = f"{dropped} lines before this one were dropped"
    return f"WARNING {__name__}: {lost}\n".encode()


class Seldom:
    """Logs what any caller can cause, at most once in `period_s` for each message."""

    def __init__(self, log: logging.Logger, period_s: float = 60.0) -> None:
        self._log = log
        self._period_s = period_s
        # by the message's format, of which a program has only so many
        self._last: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def warning(self, message: str, *values: object) -> None:
        """Log a warning, or count it; the next one says how many were left out."""
        now, last = time.monotonic(), self._last.get(message)
        if last is not None and now - last < self._period_s:
            self._left_out[message] = self._left_out.get(message, 0) + 1
            return
        self._last[message] = now
        if before := self._left_out.pop(message, 0):
            message, values = (
                f"{message} (and %d times since it was last logged)",
                (*values, before),
            )
        self._log.warning(message, *values)


class ClientsGone(logging.Filter):
    """Leaves out what libraries log of a client that went away, or was made to at the end.

    It is nobody's error, and its trace is long.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is logged."""
        if record.name.partition(".")[0] not in _LIBRARIES or not record.exc_info:
            return True
        return not _is_gone(record.exc_info[1])


def _is_gone(error: BaseException | None) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_gone, error.exceptions))
    return isinstance(error, _GONE)


class FewTracebacks(logging.Filter):
    """Lets ten records a minute through from each place of a library that callers can set off."""

    MOST = 10
    PERIOD_S = 60.0

    def __init__(self) -> None:
        super().__init__()
        self._began: dict[tuple[str, int], float] = {}
        self._count: dict[tuple[str, int], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is logged; the first after a pause says how many were not."""
        if record.name.partition(".")[0] not in _LIBRARIES:
            return True
        place, now = (record.pathname, record.lineno), time.monotonic()
        if now - self._began.setdefault(place, now) > self.PERIOD_S:
            if (left_out := self._count[place] - self.MOST) > 0:
                record.msg = f"{record.getMessage()} ({left_out} more were not logged)"
                record.args = None
            self._began[place], self._count[place] = now, 0
        self._count[place] = self._count.get(place, 0) + 1
        return self._count[place] <= self.MOST


_writer: LogWriter | None = None


def say(line: str) -> None:
    """Write one line to stderr as it is, after the log, within `LAST_LINES_S`."""
    if _writer is None:
        sys.stderr.write(f"{line}\n")
        return
    _writer.write(f"{line}\n".encode("utf-8", "backslashreplace"))
    _writer.flush(LAST_LINES_S)


def _stderr() -> logging.Handler:
    global _writer
    try:
        _writer = LogWriter(sys.stderr.fileno())
    except (AttributeError, UnsupportedOperation):  # it is no file, or closed
        _writer = None
        return logging.StreamHandler(sys.stderr)
    atexit.register(_writer.flush, LAST_LINES_S)
    return BackgroundHandler(_writer)


def set_up() -> None:
    """Log to stderr from INFO on; call it before anything else configures logging."""
    handler = _stderr()
    handler.setFormatter(OneLine("%(levelname)s %(name)s: %(message)s"))
    handler.addFilter(ClientsGone())
    handler.addFilter(FewTracebacks())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # a line for every request says nothing, and uvicorn's would hold paths, so tokens
    logging.getLogger("mcp").setLevel(logging.WARNING)
    # and one for each request that is none would let anybody fill the disk
    logging.getLogger("uvicorn").setLevel(logging.ERROR)


def _set_in(lines: str) -> str:
    return "\n".join(f"    {on_one_line(line)}" for line in lines.split("\n"))
