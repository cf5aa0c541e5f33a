"""Faults of the machine, for real: a disk that takes nothing, no descriptor that is left."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chaos import faults
from chaos.faults import NotAllowed, SmallDisk, no_descriptors

__all__ = ["SmallDisk", "no_descriptors", "no_room_for_files", "small_disk"]


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
def small_disk(path: Path) -> Iterator[SmallDisk]:
    """Mount one at `path`; the test is skipped where that is not allowed."""
    try:
        with faults.small_disk(path) as made:
            yield made
    except NotAllowed as error:
        pytest.skip(f"no file system can be mounted here: {error}")
