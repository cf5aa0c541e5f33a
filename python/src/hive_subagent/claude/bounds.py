"""What one claude may cost the daemon: beyond these bounds its run ends as failed.

A line of text costs a few times its size, one of empty lists thirty times. So beside the bytes of a
line (`framing.MAX_LINE`) the values in it are bounded, and what piles up over many lines.
"""

from __future__ import annotations

import re

LARGE = 1024 * 1024
"""Bytes of a line up to which its values are not counted: they can be no more than it has bytes."""

MOST_VALUES = 1_000_000
"""JSON values in one line; the largest of claude's own have some thousands."""

MOST_OPEN_TOOLS = 1_000
"""Tool calls of the main agent without a result at the same time."""

MOST_UNREAD = 32 * 1024 * 1024
"""Bytes that may wait for claude to read them; the longest prompt has 9 MB."""

_STRING = re.compile(rb'"(?:[^"\\]+|\\.)*"', re.DOTALL)


class Excess(Exception):
    """Raised when claude goes beyond a bound; the text says which, in one line."""


def check_values(line: bytes) -> None:
    """Raise Excess for a line with more than `MOST_VALUES` JSON values, before it is parsed."""
    if len(line) <= LARGE or _separators(line) <= MOST_VALUES or not _has_many(line):
        return
    raise Excess(
        f"claude printed a line of {len(line)} bytes with over {MOST_VALUES} JSON values, which is"
        " the limit"
    )


def _has_many(line: bytes) -> bool:
    # what stands in a text is no value: it is passed over, a string at a time and not in one go,
    # which would cost as much memory as parsing
    values, end = 0, 0
    for string in _STRING.finditer(line):
        values += 1 + _separators(line[end : string.start()])
        end = string.end()
        if values > MOST_VALUES:
            return True
    return values + _separators(line[end:]) > MOST_VALUES


def _separators(line: bytes) -> int:
    # each value but the first stands behind one of these
    return line.count(b",") + line.count(b"[") + line.count(b"{")


def check_open_tools(count: int) -> None:
    """Raise Excess for more open tool calls than `MOST_OPEN_TOOLS`."""
    if count > MOST_OPEN_TOOLS:
        raise Excess(
            f"claude opened {count} tool calls without a result; the limit is {MOST_OPEN_TOOLS}"
        )


def check_unread(size: int) -> None:
    """Raise Excess where more than `MOST_UNREAD` bytes wait for claude to read them."""
    if size > MOST_UNREAD:
        raise Excess(
            f"claude goes on asking and does not read its answers: {size} bytes wait for it; the"
            f" limit is {MOST_UNREAD}"
        )
