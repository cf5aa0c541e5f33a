"""The directory of one channel, held open: nothing that is put in its place is followed."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from hive_subagent.errors import ConfigurationError
from hive_subagent.system.private_files import open_plainly, private_directory


class Folder:
    """Work in it by `descriptor`. Holding it also keeps its inode number from being given anew."""

    def __init__(self, path: Path) -> None:
        """Make the directory, private to us. Raises ConfigurationError."""
        self.path = path
        self.descriptor, self._identity = _open(path)

    @property
    def in_place(self) -> bool:
        """Whether its path still leads to it, and not by a link."""
        with suppress(OSError):
            found = os.lstat(self.path)
            return (found.st_dev, found.st_ino) == self._identity
        return False

    def move_in(self) -> None:
        """Go on with the directory that is in its place now. Raises ConfigurationError."""
        if not os.path.lexists(self.path):
            raise ConfigurationError(
                f"directory {self.path} was removed; its files are taken once it is there again"
            )
        descriptor, identity = _open(self.path)
        self.close()
        self.descriptor, self._identity = descriptor, identity

    def empty(self) -> None:
        """Remove everything in it."""
        for name in os.listdir(self.descriptor):
            try:
                os.unlink(name, dir_fd=self.descriptor)
            except FileNotFoundError:
                continue
            except OSError:
                shutil.rmtree(name, ignore_errors=True, dir_fd=self.descriptor)

    def close(self) -> None:
        """Let go of it; it stays on disk."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def _open(path: Path) -> tuple[int, tuple[int, int]]:
    private_directory(path.parent)
    private_directory(path)
    try:
        descriptor = open_plainly(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ConfigurationError(f"directory {path} cannot be used: {error.strerror}") from None
    found = os.fstat(descriptor)
    return descriptor, (found.st_dev, found.st_ino)
