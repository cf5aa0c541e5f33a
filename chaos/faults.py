"""Faults of the machine, for real: a disk without room, and no descriptor that is left.

For a disk that fails see `chaos.failing`: there is no disk here that can be made to.
"""

from __future__ import annotations

import os
import resource
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PIECES = [bytes(size) for size in (1 << 20, 1 << 16, 1 << 12)]


class NotAllowed(Exception):
    """No file system can be mounted here; the text says why."""


@contextmanager
def no_descriptors(pid: int = 0) -> Iterator[None]:
    """A process, this one by default, gets no further file descriptor."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        yield
    finally:
        with suppress(ProcessLookupError):  # it was killed meanwhile
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


class SmallDisk:
    """A file system of its own that can be filled to the last block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        """Leave no room at all."""
        with self._ballast.open("ab", buffering=0) as file:
            for data in _PIECES:
                try:
                    while True:
                        file.write(data)
                except OSError:
                    continue

    def free(self) -> None:
        """Give the room back."""
        self._ballast.unlink(missing_ok=True)

    @contextmanager
    def kept_full(self) -> Iterator[None]:
        """Full, whatever is given back meanwhile; free again afterwards."""
        over = threading.Event()

        def refill() -> None:
            while not over.wait(0.002):
                if os.statvfs(self.path).f_bfree:
                    self.fill()

        self.fill()
        filling = threading.Thread(target=refill)
        filling.start()
        try:
            yield
        finally:
            over.set()
            filling.join()
            self.free()


@contextmanager
def small_disk(path: Path, *, size: str = "4m") -> Iterator[SmallDisk]:
    """Mount one at `path`. Raises NotAllowed."""
    path.mkdir(parents=True, exist_ok=True)
    options = f"size={size},mode=700,uid={os.geteuid()}"
    command = ["mount", "-t", "tmpfs", "-o", options, "hive-subagent-test", str(path)]
    made = subprocess.run(command, capture_output=True, check=False)
    if made.returncode != 0:
        raise NotAllowed(made.stderr.decode(errors="replace").strip())
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
