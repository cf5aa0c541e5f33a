"""Mode bits mean nothing to root; here they mean what they mean to the user of a unit."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

_VERSION_3 = 0x20080522
_OVERRIDES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@contextlib.contextmanager
def mode_bits_obeyed() -> Iterator[None]:
    """Without the capabilities that pass over them, for the calling thread; a child has its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(_VERSION_3, 0), (_Sets * 2)()

    def call(name: str) -> None:
        if getattr(libc, name)(ctypes.byref(header), sets) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    call("capget")
    before = sets[0].effective
    sets[0].effective = before & ~_OVERRIDES
    call("capset")
    try:
        yield
    finally:
        sets[0].effective = before
        call("capset")
