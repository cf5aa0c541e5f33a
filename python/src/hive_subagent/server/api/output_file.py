"""Parts of a run's `output.txt`, for a caller that follows it by the offset."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hive_subagent.errors import Refused
from hive_subagent.intervention.output import NAME
from hive_subagent.models.replies import OutputPart
from hive_subagent.system.private_files import open_plainly

_UTF8_MOST = 4


def read_output(folder: Path, name: str, *, offset: int, limit: int) -> OutputPart:
    """At most `limit` bytes from `offset` on, which is before the end where it is negative.

    The file begins anew at 4 MiB and with a new session: an offset beyond its end is taken for one
    in the earlier content, and reading begins at 0. A character that is not whole yet is left for
    the next part. Raises Refused.
    """
    try:
        # the subagent's own user could have put a link or a pipe there
        file = open_plainly(folder / NAME, os.O_RDONLY)
    except FileNotFoundError:
        raise Refused(
            f"there is no output of `{name}`: it has not run, or too many others have since",
            kind="not_found",
            name=name,
        ) from None
    except OSError as error:
        raise _unreadable(name, error.strerror, folder) from None
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise _unreadable(name, "it is not a regular file", folder)
        size = found.st_size
        anew = offset > size
        begin = 0 if anew else (max(0, size + offset) if offset < 0 else offset)
        data = os.pread(file, limit, begin)
    except OSError as error:
        raise _unreadable(name, error.strerror, folder) from None
    finally:
        os.close(file)
    if offset < 0 and begin:
        # it may begin amid a line, or amid a character
        skipped = data.find(b"\n") + 1
        begin, data = begin + skipped, data[skipped:]
    data = _whole_characters(data)
    return OutputPart(
        name=name,
        offset=begin,
        next_offset=begin + len(data),
        size=size,
        began_anew=anew,
        output=data.decode("utf-8", "replace"),
    )


def _whole_characters(data: bytes) -> bytes:
    """Without a last character of which the end is missing, unless there is nothing else."""
    for back in range(1, min(_UTF8_MOST, len(data)) + 1):
        lead = data[-back]
        if lead & 0xC0 == 0x80:
            continue
        needs = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        return data[:-back] if needs > back and back < len(data) else data
    return data


def _unreadable(name: str, reason: str | None, folder: Path) -> Refused:
    return Refused(
        f"the output of `{name}` cannot be read: {reason}", kind="failed", name=name, path=folder
    )
