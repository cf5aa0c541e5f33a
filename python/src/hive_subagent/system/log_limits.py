"""Bounds on what callers can have the daemon log."""

from __future__ import annotations

import asyncio
import logging
import time

import anyio
from starlette.requests import ClientDisconnect


class Seldom:
    """Logs what anybody can bring about, at most once in `period_s` for each message."""

    def __init__(self, log: logging.Logger, period_s: float = 60.0) -> None:
        self._log = log
        self._period_s = period_s
        # by the message's format, of which a program has only so many
        self._last: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def warning(self, message: str, *values: object) -> None:
        """Log a warning, or count it; the next one tells how many were left out."""
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


_GONE = (
    asyncio.CancelledError,
    ConnectionError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    ClientDisconnect,
)


class ClientsGone(logging.Filter):
    """RunCgroups out what libraries log of a client that went away, or was made to at the end.

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
        """Whether it is logged; the first after a pause tells how many were not."""
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


# what runs on behalf of callers; the daemon's own messages are each meant
_LIBRARIES = frozenset({"asyncio", "mcp", "sse_starlette", "starlette", "uvicorn"})
