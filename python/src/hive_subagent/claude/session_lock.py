"""Who has a session of claude's open: a lock among daemons, and what claude notes of itself.

Measured with 2.1.197 and 2.1.332: claude takes no lock on a transcript, and writes
`sessions/<pid>.json` below its configuration directory while it has a session open.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from hive_subagent.claude.transcripts import folder_of
from hive_subagent.errors import Refused
from hive_subagent.system.instance import HeldLock, lock_holder
from hive_subagent.system.private_files import open_plainly, read_private

# a session file is written moments after its process started, on clocks of different grain
_CLOCK_SLACK_S = 2.0


class TranscriptLock(HeldLock):
    """An exclusive flock on a transcript.

    Two processes that resume one session interleave its transcript, and claude lets them.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock. Raises Refused, naming the holder if the kernel tells it."""
        self.path = path
        session = f"session {path.stem}"
        try:
            super().__init__(open_plainly(path, os.O_RDWR))
        except OSError as error:
            raise Refused(
                f"{session}: its transcript {path} cannot be opened: {error.strerror};"
                " give the daemon's user access to it",
                kind="failed",
            ) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = os.fstat(self._descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Refused(f"{session}: its transcript {path} is not a regular file; move it")
            if not _is_still(path, found):
                raise Refused(f"{session}: it was archived a moment ago; start it anew")
        except BlockingIOError:
            holder = lock_holder(self._descriptor)
            self.release()
            who = f"process {holder}" if holder else "another process"
            raise Refused(
                f"{session} is in use by {who}; wait until that run ends, or interrupt it",
                kind="conflict",
            ) from None
        except OSError as error:
            self.release()
            raise Refused(
                f"{session}: its transcript cannot be locked: {error.strerror};"
                " keep claude's configuration directory on a file system with locks",
                kind="failed",
            ) from None
        except Refused:
            self.release()
            raise


def _is_still(path: Path, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), found)
    except FileNotFoundError:
        return False


def live_holder(
    config_dir: Path, session_id: str, *, ignore_pids: Collection[int] = ()
) -> int | None:
    """The pid of a living claude that has `session_id` open, from its `sessions/<pid>.json`.

    Tells of holders that do not lock: a claude started by hand. Files of dead processes stay
    behind after a kill, so the process must be alive and the one that wrote its file.
    """

    def has_it_open(noted: dict[str, Any]) -> bool:
        return str(noted.get("sessionId")).lower() == session_id.lower()

    return _living(config_dir, has_it_open, ignore_pids)


def live_holder_of_title(
    config_dir: Path, title: str, directory: str | os.PathLike[str]
) -> int | None:
    """The pid of a living claude that has a session of that title of `directory` (resolved) open.

    For a title that claude has yet to be asked about; titles are compared as claude does.
    """
    folder = folder_of(directory)

    def has_it_open(noted: dict[str, Any]) -> bool:
        name, where = noted.get("name"), noted.get("cwd")
        with suppress(Refused):
            return (
                isinstance(name, str)
                and isinstance(where, str)
                and name.casefold() == title.casefold()
                and folder_of(where) == folder
            )
        return False

    return _living(config_dir, has_it_open, ())


def _living(
    config_dir: Path, wanted: Callable[[dict[str, Any]], bool], ignore_pids: Collection[int]
) -> int | None:
    for file, noted in _session_files(config_dir):
        pid = noted.get("pid")
        if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0 or pid in ignore_pids:
            continue
        if not wanted(noted):
            continue
        with suppress(OSError):
            if _wrote(pid, noted, file.stat().st_mtime):
                return pid
    return None


def _session_files(config_dir: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    try:
        files = sorted((config_dir / "sessions").glob("*.json"))
    except OSError:
        return
    for file in files:
        with suppress(OSError, ValueError, RecursionError):
            noted = json.loads(read_private(file))
            if isinstance(noted, dict):
                yield file, noted


def _wrote(pid: int, noted: dict[str, Any], written_at: float) -> bool:
    """Whether the process lives and wrote the file, `written_at` being seconds since 1970."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    # after the command, which may hold spaces and parentheses: state first, start time 20th
    fields = status.rpartition(")")[2].split()
    if fields[0] in "ZXx":
        return False
    if isinstance(noted.get("procStart"), str):  # 2.1.197 and 2.1.332 note the start time itself
        return bool(noted["procStart"] == fields[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - age <= written_at + _CLOCK_SLACK_S
