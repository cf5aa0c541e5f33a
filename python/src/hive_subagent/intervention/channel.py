"""One session's channel: files that a parent with only a shell writes, each consumed once.

`_stop.txt` is looked at first and, when there, the others are left; then `_keyinfo.txt`;
`_intervene.txt` last. A file counts once its writer has closed it or renamed it into place.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import signal
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hive_subagent import inotify
from hive_subagent.instance import private_directory
from hive_subagent.intervention.notes import TEXT_LIMIT
from hive_subagent.intervention.output import Output
from hive_subagent.models import InterventionKind

log = logging.getLogger(__name__)

FILES: dict[str, InterventionKind] = {
    "_stop.txt": "stop",
    "_keyinfo.txt": "info",
    "_intervene.txt": "redirect",
}
"""In the order in which they are looked at."""


Put = Callable[[InterventionKind, str, str], None]
"""Given a kind, a text, and an id that is the same should a file come twice over a crash."""


class Channel:
    """A directory, watched while its run lives."""

    def __init__(
        self,
        directory: Path,
        *,
        watches: inotify.Watches,
        put: Put,
    ) -> None:
        """`put` is given each text that arrives. Raises ConfigurationError."""
        private_directory(directory)
        self.directory = directory
        self.output = Output(directory / "output.txt")
        self._put = put
        self._watches = watches
        self._watch = watches.add(directory, self.look, mask=inotify.WRITTEN_OR_MOVED_IN)
        self._set_aside = 0

    def look(self) -> None:
        """Consume what is there."""
        for name, kind in FILES.items():
            taken = [self._take(name, kind, claimed) for claimed in self._claim(name)]
            if kind == "stop" and any(taken):
                return

    def refuse(self, name: str, reason: str) -> None:
        """Set a file aside that is there already."""
        for claimed in self._claim(name):
            self._put_aside(name, claimed, reason)

    def close(self) -> None:
        """Stop watching; what was not consumed stays for the next run of the session."""
        self._watches.remove(self._watch)
        self._watch = None

    def clear(self) -> None:
        """Remove everything: another session begins under this name."""
        for entry in self.directory.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)

    def _claim(self, name: str) -> list[Path]:
        """What was there under that name and is ours now, oldest first."""
        prefix = f".claimed.{name}."
        try:
            os.rename(self.directory / name, self.directory / f"{prefix}{time.time_ns():x}")
        except FileNotFoundError:
            pass
        except OSError as error:
            self._say(f"{name} cannot be taken: {error.strerror}")
        try:
            found = [entry for entry in os.listdir(self.directory) if entry.startswith(prefix)]
        except OSError:  # somebody removed the channel, or is about to
            return []
        return [self.directory / entry for entry in sorted(found)]

    def _take(self, name: str, kind: InterventionKind, claimed: Path) -> bool:
        """Hand on what a claimed file says; whether it could be used."""
        try:
            text = _read(claimed)
        except BlockingIOError:
            # its writer is not done: the end of that brings us here again
            return False
        except (OSError, ValueError) as error:
            self._put_aside(name, claimed, _reason(error))
            return False
        # claimed, written down, gone: whenever the daemon dies, it can tell how far this came
        self._put(kind, text, f"i-{claimed.name.rpartition('.')[2]}")
        claimed.unlink(missing_ok=True)
        return True

    def _put_aside(self, name: str, claimed: Path, reason: str) -> None:
        while True:
            self._set_aside += 1
            aside = self.directory / f"{name}.rejected.{self._set_aside}"
            if not os.path.lexists(aside):
                break
        with suppress(OSError):
            os.rename(claimed, aside)
        self._say(f"{name} is not used: {reason}; it is kept as {aside.name}")

    def _say(self, line: str) -> None:
        log.warning("channel of %s: %s", self.directory.name, line)
        self.output.tell(line)


def _read(file: Path) -> str:
    """Raises BlockingIOError while it is being written, OSError or ValueError if unusable."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(file, flags), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("it is not a regular file")
        _refuse_if_open_for_writing(stream.fileno())
        data = stream.read(TEXT_LIMIT + 1)
    if len(data) > TEXT_LIMIT:
        raise ValueError(f"it is over {TEXT_LIMIT} bytes")
    try:
        text = data.decode().strip()
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    if not text:
        raise ValueError("it is empty")
    return text


def _refuse_if_open_for_writing(descriptor: int) -> None:
    """Raises BlockingIOError. The lease this takes ends with the descriptor.

    It is not to be had for another user's file and on some file systems; there closing or renaming
    has to be enough.
    """
    # who opens the file for writing meanwhile waits, and we are sent a signal: not the usual
    # SIGIO, which kills
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        raise
    except OSError:
        return


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
