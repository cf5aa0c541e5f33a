"""A file system that never answers: FUSE whose server reads no request."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_DETACH = 2  # MNT_DETACH


@contextmanager
def hung_file_system(place: Path) -> Iterator[Path]:
    """Mount it at `place`; whoever looks below waits until the end. Needs root and /dev/fuse."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        pytest.skip(f"a file system that hangs needs /dev/fuse: {error.strerror}")
    options = f"fd={server},rootmode=40000,user_id={os.geteuid()},group_id={os.getegid()}"
    place.mkdir(exist_ok=True)
    if libc.mount(b"hung", os.fsencode(place), b"fuse", 0, options.encode()) != 0:
        os.close(server)
        pytest.skip(f"mounting is not allowed here: {os.strerror(ctypes.get_errno())}")
    try:
        yield place
    finally:
        os.close(server)  # whoever waits gets an error now
        libc.umount2(os.fsencode(place), _DETACH)
