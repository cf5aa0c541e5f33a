"""Which directory the daemon may take over as its own.

A directory of its own is made private (0700). Done to `/`, to a home, or to a folder with other
people's files, that locks everybody else out.
"""

from __future__ import annotations

import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path

from hive_subagent.errors import ConfigurationError
from hive_subagent.system.environment import first_set

LOCK_NAME = "daemon.lock"

_OURS = {
    LOCK_NAME,
    "identity",
    "names",
    "owed",
    "owner-token",
    "runtime",
    "sessions",
    "todos",
    "channels",
    "daemon.json",
    "daemon.json.trial",
    "mcp",
    "operator.sock",
}


def check_own_directory(key: str, path: Path) -> None:
    """Raise ConfigurationError unless `path` is new, empty, or a directory of this daemon.

    `key` is the setting that names it. Nothing is changed.
    """
    try:
        found = os.stat(path)
        names = os.listdir(path)
    except (OSError, ValueError):
        return  # it is new, or making it private will say what is wrong with it
    for home in _homes():
        if any(_is(found, place) for place in (home, *home.parents)):
            what = "a home directory" if _is(found, home) else "above a home directory"
            raise ConfigurationError(
                f"{key} {path} is {what} and would be closed to everybody else;"
                " name a directory of its own"
            )
    foreign = sorted(name for name in names if not _is_ours(name))
    if foreign and not (_was_used(path) and stat.S_IMODE(found.st_mode) == 0o700):
        raise ConfigurationError(
            f"{key} {path} holds files that are not the daemon's ({foreign[0]!r});"
            " name a new or an empty directory"
        )


def _homes() -> list[Path]:
    homes = [first_set(os.environ, "HOME")]
    with suppress(KeyError):  # this user has no entry
        homes.append(pwd.getpwuid(os.geteuid()).pw_dir)
    # "/" is above every home; with it there is at least one
    return [Path(home) for home in (*homes, "/") if home and os.path.isabs(home)]


def _is(found: os.stat_result, place: Path) -> bool:
    try:
        return os.path.samestat(found, os.stat(place))
    except OSError:
        return False


def _is_ours(name: str) -> bool:
    # write_private leaves a draft behind when it is killed
    return name in _OURS or (name.startswith(".") and name.endswith(".tmp"))


def _was_used(path: Path) -> bool:
    """Whether a daemon of this user has had it."""
    try:
        lock = os.lstat(path / LOCK_NAME)
    except OSError:
        return False
    return stat.S_ISREG(lock.st_mode) and lock.st_uid == os.geteuid()
