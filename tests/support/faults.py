"""Faults of the machine, for real: a disk that takes nothing, no descriptor that is left."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def no_room_for_files(limit: int = 64) -> Iterator[None]:
    """In this process no file takes more than a few bytes."""
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))


@contextmanager
def no_descriptors(pid: int = 0) -> Iterator[None]:
    """A process, this one by default, gets no further file descriptor."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


class SmallDisk:
    """A file system of its own that can be filled to the last block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        """Leave no room at all."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 16, 1 << 12):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    @contextmanager
    def kept_full(self) -> Iterator[None]:
        """Full, whatever is given back meanwhile; free again afterwards."""
        over = threading.Event()

        def refill() -> None:
            while not over.wait(0.0005):
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

    def free(self) -> None:
        """Give the room back."""
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(path: Path, *, size: str = "4m") -> Iterator[SmallDisk]:
    """Mount one at `path`; the test is skipped where that is not allowed."""
    path.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "hive-subagent-test", str(path)],
        capture_output=True,
        check=False,
    )
    if made.returncode != 0 or os.geteuid() != 0:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
