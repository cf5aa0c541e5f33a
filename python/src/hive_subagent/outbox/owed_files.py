"""The files of what is owed: one for each run, in `state_dir/owed/`.

`<run id>.json` begins as the promise of a notice and becomes the notice. A file that was read and
makes no sense is set aside as `.broken`; one that cannot be read now, or that a newer version
wrote, stays where it is.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from hive_subagent.outbox.entries import (
    RUN_ID,
    NewerVersion,
    Owed,
    Unfinished,
    decode,
    owed_line,
    promise_line,
    shortened,
)
from hive_subagent.system.private_files import (
    Unusable,
    new_draft,
    open_plainly,
    private_directory,
    read_ours,
    reason_of,
    sync_directory,
    write_private,
)

ROOM = 64 * 1024
"""Bytes reserved on the disk for the notice of one run; on a full disk a longer one is cut."""

logger = logging.getLogger(__name__)


class Journal:
    """A file that grows by whole lines, in room that was reserved for them on the disk.

    A line is written in place, into blocks that the file has had since it was made and through a
    descriptor that stays open, so a full disk or a lack of descriptors does not stop it. `create`
    and `reopen` make it, `close` ends it.
    """

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
        return cls(open_plainly(path, os.O_WRONLY), end)

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


class OwedFiles:
    """The folder. Every method raises OSError for what the disk refuses, where it says nothing."""

    def __init__(self, state_dir: Path, *, identity: str = "") -> None:
        """Raises ConfigurationError when `state_dir/owed` cannot be made ours."""
        self.folder = state_dir / "owed"
        private_directory(self.folder)
        self._identity = identity
        self.set_aside = 0
        """Files that made no sense, as far as they are known."""

    def path(self, run_id: str) -> Path:
        """Where the file of a run lies. Raises ValueError for an id that is no file name."""
        if not RUN_ID.fullmatch(run_id):
            raise ValueError(f"not a run id: {run_id!r}")
        return self.folder / f"{run_id}.json"

    def listed(self) -> list[str]:
        """The ids of all runs that have a file; drafts that a crash left are removed."""
        names = sorted(os.listdir(self.folder))
        self.set_aside = sum(name.endswith(".broken") for name in names)
        for name in names:
            if name.startswith(".") and name.endswith(".tmp"):
                with suppress(OSError):
                    (self.folder / name).unlink()  # the file before it counts
        return [name[: -len(".json")] for name in names if name.endswith(".json")]

    def promise(self, run_id: str, payload: Mapping[str, Any], *, room: int = ROOM) -> Journal:
        """Write the promise of a notice, and reserve the room of that; `sync` makes it durable."""
        return Journal.create(self.path(run_id), self.promised(payload), room=room)

    def promised(self, payload: Mapping[str, Any]) -> bytes:
        """The line of a promise."""
        return promise_line(payload, self._identity)

    def sync(self) -> None:
        """Flush the names in the folder to the disk."""
        sync_directory(self.folder)

    def rewrite(self, owed: Owed, *, durable: bool) -> None:
        """Replace a run's file by one that says this alone."""
        write_private(self.path(owed.notice.id), owed_line(owed), durable=durable)

    def remove(self, run_id: str, *, durable: bool = False) -> None:
        """Remove a run's file, there or not."""
        self.path(run_id).unlink(missing_ok=True)
        if durable:
            self.sync()

    def reopen(self, run_id: str) -> Journal:
        """The journal of a run that an earlier daemon began."""
        path = self.path(run_id)
        content = read_ours(path).rstrip(b"\0")
        # what a crash cut short is ended, so that the next line is one by itself
        journal = Journal.reopen(path, len(content))
        if not content.endswith(b"\n"):
            journal.append(b"\n")
        return journal

    def read(self, run_id: str) -> Unfinished | Owed | None:
        """What a run's file says; None where it is gone, or made no sense and is set aside.

        Raises OSError when it cannot be read now, NewerVersion when it stays for that version.
        """
        file = self.folder / f"{run_id}.json"
        try:
            return decode(run_id, read_ours(file))
        except FileNotFoundError:
            logger.warning("notice %s is gone: somebody removed %s", run_id, file)
        except (Unusable, ValueError, RecursionError) as error:
            self._set_aside(file, error)
        return None

    def _set_aside(self, file: Path, error: Exception) -> None:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        reason = reason.partition("\n")[0]
        target, number = file.with_name(f"{file.name}.broken"), 1
        while os.path.lexists(target):
            number += 1
            target = file.with_name(f"{file.name}.{number}.broken")
        self.set_aside += 1
        try:
            file.rename(target)
        except OSError as hindrance:
            logger.error("%s is broken (%s) and stays: %s", file, reason, hindrance.strerror)
        else:
            logger.error("%s is broken (%s); it is now %s", file, reason, target.name)


def identities_in(state_dir: Path) -> list[str]:
    """The identities under which runs were begun that are owed a notice, each once."""
    found: dict[str, None] = {}
    with suppress(OSError):
        for file in sorted((state_dir / "owed").glob("*.json")):
            with suppress(OSError, ValueError, RecursionError, NewerVersion):
                entry = decode(file.stem, read_ours(file))
                if isinstance(entry, Unfinished) and entry.identity:
                    found[entry.identity] = None
    return list(found)


def append_owed(journal: Journal, owed: Owed) -> Literal["whole", "cut", "nothing"]:
    """Add the notice to the file of its promise; how much of it is on the disk now."""
    try:
        journal.append(owed_line(owed))
    except OSError as error:
        logger.warning("notice %s does not fit: %s", owed.notice.id, error.strerror)
    else:
        with suppress(OSError):
            journal.trim()
        return "whole"
    try:
        # it may be longer than the room that was reserved for it
        journal.append(owed_line(shortened(owed)))
    except OSError:
        return "nothing"
    return "cut"
