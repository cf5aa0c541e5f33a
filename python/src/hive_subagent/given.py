"""Files that somebody else names: read whole and at once, or refused in words."""

from __future__ import annotations

import os
import stat
from pathlib import Path

LIMIT = 4 * 1024 * 1024
"""Bytes of a file that an operator may name; configuration is far smaller."""


def read_given(file: Path, *, limit: int = LIMIT) -> bytes:
    """The content of a regular file, behind a link or not.

    Never waits for a pipe and never reads a device. Raises OSError, whose `strerror` says why.
    """
    # looked at before it is opened: that alone makes some devices do something
    _check(file, os.stat(file))
    with open(file, "rb", opener=_without_waiting) as stream:
        _check(file, os.fstat(stream.fileno()))
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(None, f"it is larger than {limit} bytes", str(file))
    return content


def _check(file: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(None, "it is a directory", str(file))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(None, "it is not a regular file", str(file))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
