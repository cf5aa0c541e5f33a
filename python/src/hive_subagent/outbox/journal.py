"""A file that grows by whole lines, in room that was reserved for them on the disk.

The last line that is whole counts. A line is written in place, into blocks that the file has had
since it was made and through a descriptor that stays open, so a full disk or a lack of descriptors
does not stop it. A line that a crash cut short is no JSON, and the one before it counts.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from hive_subagent.system.private_files import new_draft


class Journal:
    """A journal that is open for further lines. `create` and `reopen` make it, `close` ends it."""

    def __init__(self, descriptor: int, end: int) -> None:
        self._descriptor = descriptor
        self._end = end

    @classmethod
    def create(cls, path: Path, line: bytes, *, room: int) -> Journal:
        """Replace `path` (0600) by a journal of one line with `room` more bytes reserved.

        Nothing is reserved where the file system cannot do that.

        Its content is flushed to the disk, its name is not. Raises OSError, and then `path` is as
        it was.
        """
        draft, descriptor = new_draft(path)
        made = cls(descriptor, 0)
        try:
            # before the line: on a full disk nothing is written at all
            _reserve(descriptor, len(line) + room)
            made.append(line)
            os.replace(draft, path)
        except BaseException:
            made.close()
            with suppress(OSError):
                os.unlink(draft)
            raise
        return made

    @classmethod
    def reopen(cls, path: Path, end: int) -> Journal:
        """The journal at `path`, whose lines take `end` bytes. Raises OSError."""
        return cls(os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC), end)

    def append(self, line: bytes) -> None:
        """Add a line and flush it to the disk. Raises OSError, and then it may not count."""
        rest, at = memoryview(line), self._end
        while rest:
            written = os.pwrite(self._descriptor, rest, at)
            rest, at = rest[written:], at + written
        os.fsync(self._descriptor)
        self._end = at

    def trim(self) -> None:
        """Give back the room that is left; nothing more will be added. Raises OSError."""
        os.ftruncate(self._descriptor, self._end)

    def close(self) -> None:
        """Close the file; again is harmless."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _reserve(descriptor: int, size: int) -> None:
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        # the file system cannot reserve, and the C library (musl) does not fill in for it
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


def lines_of(content: bytes) -> list[bytes]:
    """The lines of a journal, the last one first; where none was cut short, that is the valid one.

    What a failed or interrupted write left behind the last whole line comes before it.
    """
    return [line for line in reversed(content.rstrip(b"\0").split(b"\n")) if line.strip(b"\0")]
