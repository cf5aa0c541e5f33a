"""Paths that an operator names: made absolute, read whole and at once, or refused in words."""

from __future__ import annotations

import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path

from hive_subagent.system.environment import first_set

LIMIT = 4 * 1024 * 1024
"""Bytes of a file that an operator may name; configuration is far smaller."""


def absolute_path(text: str | os.PathLike[str]) -> Path:
    """The absolute path that `text` means: `~` and `~user` are expanded, links are not followed.

    Raises ValueError, in one line with the fix, where there is no such home, or no working
    directory to count a relative path from.
    """
    path = os.fspath(text)
    if not path.strip():
        raise ValueError("the path is blank; name one")
    if path.startswith("~"):
        path = _expand_home(path)
    try:
        return Path(os.path.abspath(path))
    except OSError as error:
        raise ValueError(
            f"the daemon's working directory cannot be used ({error.strerror}); start it in"
            f" another one, or replace {path!r} by an absolute path"
        ) from None


def _expand_home(path: str) -> str:
    user = path[1:].partition("/")[0]
    # a blank HOME would make "/x" out of "~/x"
    home = first_set(os.environ, "HOME") if not user else None
    if not user and home is None:
        with suppress(KeyError):
            home = pwd.getpwuid(os.getuid()).pw_dir
        if not home:
            raise ValueError(
                f"{path} cannot be found: uid {os.getuid()} has no home directory; set HOME, or"
                " give an absolute path"
            )
    if home is not None:
        return home.rstrip("/") + path[1:] or "/"
    expanded = os.path.expanduser(path)
    if expanded == path:
        raise ValueError(f"{path} cannot be found: there is no user {user!r}; correct the path")
    return expanded


def read_given(file: Path, *, limit: int = LIMIT) -> bytes:
    """The content of a regular file, behind a link or not.

    Never waits for a pipe and never reads a device. Raises OSError, whose `strerror` says why.
    """
    # looked at before it is opened: that alone makes some devices do something
    _check(file, os.stat(file))
    with open(file, "rb", opener=_without_waiting) as stream:
        _check(file, os.fstat(stream.fileno()))
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(None, f"it is larger than {limit} bytes", str(file))
    return content


def _check(file: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(None, "it is a directory", str(file))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(None, "it is not a regular file", str(file))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
