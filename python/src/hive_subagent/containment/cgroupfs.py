"""One cgroup v2 directory: its files, read and written plainly."""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import dataclass, field
from pathlib import Path

from hive_subagent.containment import proc


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

    def read(self, name: str) -> str | None:
        """A file's text; None when it, or the cgroup, is not there."""
        text = proc.read_file(str(self.path / name), whole=True)
        return None if text is None else text.decode(errors="replace").strip()

    def number(self, name: str) -> int | None:
        """A file that holds one number; None where it says `max`, or nothing."""
        text = self.read(name) or ""
        return int(text) if text.isdigit() else None

    def keyed(self, name: str) -> dict[str, int]:
        """A flat-keyed file, as memory.events: empty when it is not there."""
        pairs = (line.split() for line in (self.read(name) or "").splitlines())
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}

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

    def nested(self) -> list[Cgroup]:
        """This cgroup and all below it, the deepest last."""
        return [Cgroup(Path(directory), self.directories) for directory, _, _ in os.walk(self.path)]

    def pids(self) -> list[int]:
        """Who is in it or below it. Zombies are not listed; 0 is somebody we cannot see."""
        lines = (
            line for group in self.nested() for line in (group.read("cgroup.procs") or "").split()
        )
        return [int(line) for line in lines if line.isdigit() and line != "0"]

    def populated(self) -> bool:
        return self.keyed("cgroup.events").get("populated", 0) != 0

    def kill(self) -> bool:
        """SIGKILL to all in it and below, forks included; False before Linux 5.14."""
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
