"""The daemon's log: one line for each message, whatever it is made of."""

from __future__ import annotations

import logging
import sys

from hive_subagent.visible import on_one_line


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


def set_up() -> None:
    """Log to stderr from INFO on; call it before anything else configures logging."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # a line for every request says nothing, and uvicorn's would hold paths, so tokens
    logging.getLogger("mcp").setLevel(logging.WARNING)
    # and one for each request that is none would let anybody fill the disk
    logging.getLogger("uvicorn").setLevel(logging.ERROR)


def _set_in(lines: str) -> str:
    return "\n".join(f"    {on_one_line(line)}" for line in lines.split("\n"))
