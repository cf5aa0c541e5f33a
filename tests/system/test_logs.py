"""What others wrote cannot forge a line of the log."""

from __future__ import annotations

import logging

from hive_subagent.system.logs import OneLine

FORGED = "x\nINFO hive_subagent: all is well\x1b[2K"


def lines_of(record: logging.LogRecord) -> list[str]:
    return OneLine("%(levelname)s %(name)s: %(message)s").format(record).split("\n")


def record(message: str, *arguments: object, error: Exception | None = None) -> logging.LogRecord:
    trace = (type(error), error, error.__traceback__) if error is not None else None
    return logging.LogRecord("a", logging.INFO, __file__, 1, message, arguments, trace)


def test_a_message_is_one_line_whatever_is_put_into_it() -> None:
    assert lines_of(record("died with it: %s", FORGED)) == [
        "INFO a: died with it: x\\nINFO hive_subagent: all is well\\x1b[2K"
    ]


def test_the_lines_of_a_trace_are_set_in() -> None:
    try:
        raise ValueError(FORGED)
    except ValueError as error:
        first, *trace = lines_of(record("broke", error=error))
    assert first == "INFO a: broke"
    assert len(trace) > 3
    assert all(line.startswith("    ") and line.isprintable() for line in trace)
