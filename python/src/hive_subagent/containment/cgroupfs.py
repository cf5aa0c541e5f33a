"""One cgroup v2 directory: its files, read and written plainly.

What cannot be looked at, for instance since a run has taken the mode bits away, is an error and
never "nothing there".
"""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import dataclass, field
from pathlib import Path

from hive_subagent.containment import proc

# an open file of a removed cgroup gives ENODEV; the processes of a threaded cgroup are listed by
# the domain above it, and by itself EOPNOTSUPP is given
_EMPTY = (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP)


def _read(path: Path) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with open(fd, "rb", buffering=0) as file:
        return file.readall()


class Directories:
    """How cgroups come and go. A subclass stands in where plain files stand in for cgroups."""

    def make(self, path: Path) -> None:
        path.mkdir()

    def remove(self, path: Path) -> None:
        path.rmdir()


@dataclass(frozen=True, slots=True)
class Cgroup:
    """A cgroup by its directory."""

    path: Path
    directories: Directories = field(default_factory=Directories)

    def child(self, name: str) -> Cgroup:
        return Cgroup(self.path / name, self.directories)

    def make(self) -> None:
        """Raises OSError, FileExistsError among them."""
        self.directories.make(self.path)

    def strictly(self, name: str) -> str:
        """A file's text; empty when it, or the cgroup, is gone. Raises OSError: cannot look."""
        path = self.path / name
        try:
            return _read(path).decode(errors="replace").strip()
        except OSError as error:
            if error.errno in _EMPTY:
                return ""
            raise OSError(error.errno, error.strerror, str(path)) from None

    def read(self, name: str) -> str | None:
        """A file's text; None when it, or the cgroup, is not there or may not be read.

        Raises OSError where descriptors have run out.
        """
        path = self.path / name
        try:
            return _read(path).decode(errors="replace").strip()
        except OSError as error:
            proc.raise_if_exhausted(error)
            return None

    def number(self, name: str) -> int | None:
        """A file that holds one number; None where it says `max`, or nothing."""
        text = self.read(name) or ""
        return int(text) if text.isdigit() else None

    def keyed(self, name: str) -> dict[str, int]:
        """A flat-keyed file, as memory.events: empty when it is not there."""
        return _pairs(self.read(name) or "")

    def write(self, name: str, text: str) -> None:
        """Write one value in one go, as the kernel wants it. Raises OSError; creates nothing."""
        fd = os.open(self.path / name, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)

    def controllers(self) -> set[str]:
        return set((self.read("cgroup.controllers") or "").split())

    def writable(self) -> bool:
        files = ("cgroup.procs", "cgroup.subtree_control")
        return os.access(self.path, os.W_OK) and all(
            os.access(self.path / name, os.W_OK) for name in files
        )

    def children(self) -> list[Cgroup]:
        """The cgroups right below it. Raises OSError: cannot look."""
        try:
            with os.scandir(self.path) as entries:
                names = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return []
        return [self.child(name) for name in sorted(names)]

    def nested(self) -> list[Cgroup]:
        """This cgroup and all below it, the deepest last. Raises OSError: cannot look."""
        found = [self]
        for group in found:
            found.extend(group.children())
        return found

    def own_pids(self) -> list[int]:
        """The processes in it, not below; zombies are not listed. Raises OSError: cannot look."""
        lines = self.strictly("cgroup.procs").split()
        # 0 is a process of another namespace, which we cannot see
        return [int(line) for line in lines if line.isdigit() and line != "0"]

    def pids(self) -> list[int]:
        """The processes in it or below it. Raises OSError: there may be some that are not seen."""
        try:
            return [pid for group in self.nested() for pid in group.own_pids()]
        except OSError as error:
            proc.raise_if_exhausted(error)
            # paths below it may be too long to be walked; the kernel knows of all that lives there
            if self.populated():
                raise
            return []

    def populated(self) -> bool:
        """Whether anybody lives in it or below it. Raises OSError: cannot look."""
        return _pairs(self.strictly("cgroup.events")).get("populated", 0) != 0

    def kill(self) -> bool:
        """SIGKILL to all in it and below, forks included; False where the kernel did not do it.

        That is so before Linux 5.14, and where the cgroup is gone.
        """
        try:
            self.write("cgroup.kill", "1")
        except OSError:
            return False
        return True

    def remove(self) -> bool:
        """Remove it and all below it; False while somebody dies in it still."""
        for group in reversed(self.nested()):
            try:
                self.directories.remove(group.path)
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno not in (errno.EBUSY, errno.ENOTEMPTY):
                    raise
                return False
        return True

    def set_if_there(self, name: str, text: str) -> None:
        """Write a value where the kernel has such a file."""
        with contextlib.suppress(FileNotFoundError):
            self.write(name, text)


def _pairs(text: str) -> dict[str, int]:
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
