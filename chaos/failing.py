"""A daemon whose disk fails now and then: `python -m chaos.failing` takes the daemon's arguments.

Calls on files below CHAOS_BELOW end with EIO as often as the first byte of the file CHAOS_CHANCE
says, in 256ths. Opening, listing, renaming and removing fail before they do anything; a write in
place may have written half by then, and a flush may have done all of its work.
"""

from __future__ import annotations

import errno
import mmap
import os
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

_EVENTS = frozenset(
    {"open", "os.listdir", "os.mkdir", "os.rename", "os.remove", "os.link", "os.truncate"}
)


class Chance:
    """How often calls fail now; the harness changes it from outside."""

    def __init__(self, file: Path) -> None:
        with file.open("r+b") as opened:
            self._byte = mmap.mmap(opened.fileno(), 1)
        self._random = Random()

    def strikes(self) -> bool:
        """Whether this call fails."""
        return self._random.randrange(256) < self._byte[0]


def _error() -> OSError:
    return OSError(errno.EIO, os.strerror(errno.EIO))


def _below(descriptor: int, folder: str) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith(folder)
    except OSError:
        return False


def install(folder: str, chance: Chance) -> None:
    """Make calls on files below `folder` fail from now on."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _EVENTS and str(arguments[0]).startswith(folder) and chance.strikes():
            raise _error()

    def failing(call: Callable[..., Any], *, half: bool) -> Callable[..., Any]:
        def wrapped(descriptor: int, *arguments: Any) -> Any:
            strikes = chance.strikes() and _below(descriptor, folder)
            if strikes and half:
                data, *further = arguments
                call(descriptor, bytes(data)[: len(data) // 2], *further)
            if strikes:
                raise _error()
            return call(descriptor, *arguments)

        return wrapped

    sys.addaudithook(hook)
    os.pwrite = failing(os.pwrite, half=True)
    os.fsync = failing(os.fsync, half=False)
    os.posix_fallocate = failing(os.posix_fallocate, half=False)


if __name__ == "__main__":
    from hive_subagent.daemon import main

    install(os.environ["CHAOS_BELOW"], Chance(Path(os.environ["CHAOS_CHANCE"])))
    sys.exit(main())
