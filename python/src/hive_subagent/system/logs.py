"""The daemon's log: one line for each message, whatever it is made of."""

from __future__ import annotations

import atexit
import logging
import sys
from io import UnsupportedOperation

from hive_subagent.system.log_limits import ClientsGone, FewTracebacks
from hive_subagent.system.log_writer import LogWriter
from hive_subagent.system.sanitize import on_one_line

LAST_LINES_S = 1.0
"""Seconds that the last lines may take at the end."""


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
    """Hands each record to a writer, so that no record waits for whoever reads the log."""

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
