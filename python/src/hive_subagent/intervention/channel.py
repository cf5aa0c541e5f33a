"""One session's channel: files that a parent with only a shell writes, each consumed once.

`_stop.txt` is looked at first and, when there, the others are left; then `_keyinfo.txt`;
`_intervene.txt` last. A file counts once its writer has closed it or renamed it into place.
"""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from hive_subagent.claude.stream import Batch
from hive_subagent.errors import ConfigurationError
from hive_subagent.intervention.folder import Folder
from hive_subagent.intervention.intervention import TEXT_LIMIT
from hive_subagent.intervention.output import Output
from hive_subagent.models.session import InterventionKind
from hive_subagent.system import inotify
from hive_subagent.system.private_files import open_plainly

log = logging.getLogger(__name__)

FILES: dict[str, InterventionKind] = {
    "_stop.txt": "stop",
    "_keyinfo.txt": "info",
    "_intervene.txt": "redirect",
}
"""In the order in which they are looked at."""


class Inbox(Protocol):
    """Takes what the files of a channel say."""

    def put(self, kind: InterventionKind, text: str, id: str) -> None:
        """Take and keep a text; its id is the same should a file come twice over a crash."""

    def has_room(self, kind: InterventionKind, size: int) -> bool:
        """Whether a text of `size` bytes may come now."""


class Channel:
    """A directory, watched while its run lives."""

    def __init__(
        self,
        directory: Path,
        *,
        watches: inotify.Watches,
        inbox: Inbox,
        anew: bool = False,
    ) -> None:
        """`inbox` is given each text that arrives; what it has no room for stays until later.

        `anew` removes what lies there.

        Raises ConfigurationError.
        """
        self.directory = directory
        self._folder = Folder(directory)
        if anew:
            self._folder.empty()
        self.output = Output(self._folder)
        self._inbox = inbox
        self._held_back = False
        self._watches = watches
        self._watch: int | None = None
        self._told: set[str] = set()
        self._set_aside = 0
        self._follow()

    def attend(self) -> None:
        """Between two steps: see after the folder, and after files that nothing tells of."""
        if not self._folder.in_place:
            self._move_in()
        if self._watch is None:
            self._follow()
            self.look()
        elif self._held_back:
            self.look()

    def look(self) -> None:
        """Consume what is there."""
        before, self._held_back = self._held_back, False
        for name, kind in FILES.items():
            if self._fits(name, kind, name):
                self._claim(name)
            taken = [self._take(name, kind, claimed) for claimed in self._claimed(name)]
            if kind == "stop" and any(taken):
                self._held_back = before
                return

    def hear(self, batch: Batch) -> None:
        """Write down what claude printed in one go."""
        self.output.hear(batch)

    def refuse(self, name: str, reason: str) -> None:
        """Set a file aside that is there already."""
        self._claim(name)
        for claimed in self._claimed(name):
            self._put_aside(name, claimed, reason)

    def close(self) -> None:
        """Stop watching; what was not consumed stays for the next run of the session."""
        self._watches.remove(self._watch)
        self._watch = None
        self._folder.close()

    def _follow(self) -> None:
        # by the descriptor: a path could lead elsewhere by now
        held = Path(f"/proc/self/fd/{self._folder.descriptor}")
        mask = inotify.WRITTEN_OR_MOVED_IN
        self._watch = self._watches.add(held, self.look, mask=mask)
        if self._watch is None:
            self._say_once(
                "the kernel gives no watch for this folder (see fs.inotify in sysctl):"
                " files are taken between steps only"
            )

    def _move_in(self) -> None:
        try:
            self._folder.move_in()
        except ConfigurationError as error:
            self._say_once(str(error))
            return
        self._watches.remove(self._watch)
        self._watch = None  # the next look is due in any case
        self.output = Output(self._folder)
        self._told.clear()
        self._say("the folder is another one than before, and is used from here on")

    def _fits(self, name: str, kind: InterventionKind, file: str) -> bool:
        try:
            size = os.stat(file, dir_fd=self._folder.descriptor, follow_symlinks=False).st_size
        except OSError:
            return True
        if size > TEXT_LIMIT or self._inbox.has_room(kind, size):
            return True
        self._held_back = True
        self._say_once(f"{name} is left until more of what was said before has been read")
        return False

    def _claim(self, name: str) -> None:
        """Make what is there under that name ours."""
        claimed, within = f".claimed.{name}.{time.time_ns():x}", self._folder.descriptor
        try:
            os.rename(name, claimed, src_dir_fd=within, dst_dir_fd=within)
        except FileNotFoundError:
            pass
        except OSError as error:
            self._say(f"{name} cannot be taken: {error.strerror}")

    def _claimed(self, name: str) -> list[str]:
        """What is ours of that name, oldest first."""
        prefix = f".claimed.{name}."
        with suppress(OSError):
            found = os.listdir(self._folder.descriptor)
            return sorted(entry for entry in found if entry.startswith(prefix))
        return []

    def _take(self, name: str, kind: InterventionKind, claimed: str) -> bool:
        """Hand on what a claimed file says; whether it could be used."""
        if not self._fits(name, kind, claimed):
            return False
        try:
            text = _read(claimed, within=self._folder.descriptor)
        except BlockingIOError:
            # its writer is not done: the end of that brings us here again
            return False
        except (OSError, ValueError) as error:
            self._put_aside(name, claimed, _reason(error))
            return False
        # claimed, written down, gone: whenever the daemon dies, it can tell how far this came
        self._inbox.put(kind, text, f"i-{claimed.rpartition('.')[2]}")
        with suppress(OSError):
            os.unlink(claimed, dir_fd=self._folder.descriptor)
        return True

    def _put_aside(self, name: str, claimed: str, reason: str) -> None:
        within = self._folder.descriptor
        taken = set(os.listdir(within))
        while True:
            self._set_aside += 1
            aside = f"{name}.rejected.{self._set_aside}"
            if aside not in taken:
                break
        with suppress(OSError):
            os.rename(claimed, aside, src_dir_fd=within, dst_dir_fd=within)
        self._say(f"{name} is not used: {reason}; it is kept as {aside}")

    def _say_once(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            self._say(line)

    def _say(self, line: str) -> None:
        log.warning("channel of %s: %s", self.directory.name, line)
        self.output.tell(line)


def _read(file: str, *, within: int) -> str:
    """Raises BlockingIOError while it is being written, OSError or ValueError if unusable."""
    with open(open_plainly(file, os.O_RDONLY, beneath=within), "rb") as stream:
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
