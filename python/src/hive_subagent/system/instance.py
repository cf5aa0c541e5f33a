"""What makes a daemon the only one of its kind: its own directories, their locks, its identity.

A directory of its own is made private (0700). Done to `/`, to a home, or to a folder with other
people's files, that locks everybody else out.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import pwd
import re
import secrets
import stat
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from hive_subagent.errors import ConfigurationError
from hive_subagent.system.operator_input import first_set
from hive_subagent.system.private_files import (
    make_ours,
    open_plainly,
    read_ours,
    reason_of,
    write_private,
)

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

IDENTITY_NAME = "identity"

_IDENTITY = re.compile(rb"[0-9a-f]{32}")

logger = logging.getLogger(__name__)


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
                " name a directory of its own",
                name=key,
                path=path,
            )
    foreign = sorted(name for name in names if not _is_ours(name))
    if foreign and not (_was_used(path) and stat.S_IMODE(found.st_mode) == 0o700):
        raise ConfigurationError(
            f"{key} {path} holds files that are not the daemon's ({foreign[0]!r});"
            " name a new or an empty directory",
            name=key,
            path=path,
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


class HeldLock(AbstractContextManager["HeldLock"]):
    """An open file with our flock; ends with `release`, the `with` block, or the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Release it; again is harmless. The file stays: removing it would let two in at once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __exit__(self, *exception: object) -> None:
        self.release()


def lock_directory(path: Path, about: dict[str, Any]) -> HeldLock:
    """Lock `path` for this daemon and write `about` (JSON, `pid` is added) into the lock file.

    Raises ConfigurationError that names the holder's pid when another daemon has it.
    """
    file = path / LOCK_NAME
    try:
        descriptor = open_plainly(file, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise ConfigurationError(
            f"lock {file} cannot be opened: {reason_of(error)};"
            " make it a file of ours or remove it",
            path=file,
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        make_ours(descriptor, file)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({**about, "pid": os.getpid()}).encode() + b"\n")
    except BlockingIOError:
        holder = _noted_pid(descriptor)
        os.close(descriptor)
        if holder == os.getpid():
            raise ConfigurationError(
                f"directory {path} is named twice; state_dir and runtime_dir must differ",
                path=path,
            ) from None
        who = f"the daemon with pid {holder}" if holder else "another daemon"
        raise ConfigurationError(
            f"directory {path} is in use by {who};"
            " stop it, or give this one its own state_dir and runtime_dir",
            path=path,
        ) from None
    except OSError as error:
        os.close(descriptor)
        raise ConfigurationError(
            f"lock {file} cannot be taken: {reason_of(error)}; remove it, or name a directory on a"
            " local disk",
            path=file,
        ) from None
    return HeldLock(descriptor)


def lock_holder(descriptor: int) -> int | None:
    """The pid that holds a flock on this open file, as far as the kernel reports it; else None.

    For a file that holds no note of its holder, such as a transcript of claude.
    """
    inode = str(os.fstat(descriptor).st_ino)
    holders = set()
    with suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            # "1: FLOCK  ADVISORY  WRITE 4242 fe:00:1234 0 EOF"; waiters have "->" after the number.
            # btrfs and overlayfs show another device there than fstat does
            fields = line.split()
            if len(fields) == 8 and fields[1] == "FLOCK" and fields[5].endswith(f":{inode}"):
                holders.add(int(fields[4]))
    # 0: the holder lives in a pid namespace that we do not see
    return (holders.pop() or None) if len(holders) == 1 else None


def _noted_pid(descriptor: int) -> int | None:
    try:
        pid = json.loads(os.pread(descriptor, 65536, 0))["pid"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return pid if isinstance(pid, int) else None


def state_identity(state_dir: Path, *, in_use: Iterable[str] = ()) -> str:
    """The random id (32 hex digits) of this state directory, made once and kept in `identity`.

    Processes started from it carry the id, so another daemon's children are never taken for ours.
    `in_use`: identities under which an earlier daemon left runs. Where the file is lost, the first
    of them is kept, since the processes of those runs can be found by it alone. Call it with the
    directory locked. Raises ConfigurationError when it can neither be read nor made.
    """
    file = state_dir / IDENTITY_NAME
    try:
        with suppress(FileNotFoundError):
            known = read_ours(file).strip()
            if _IDENTITY.fullmatch(known):
                return known.decode()
            logger.warning("%s does not hold an identity; it is written anew", file)
        left = [each for each in in_use if _IDENTITY.fullmatch(each.encode())]
        if left:
            logger.warning("%s was lost; runs that are still owed a notice name it", file)
        identity = left[0] if left else secrets.token_hex(16)
        write_private(file, identity.encode() + b"\n", durable=True)
    except OSError as error:
        raise ConfigurationError(
            f"identity {file} cannot be read or made: {reason_of(error)};"
            " make it a file of ours or remove it",
            path=file,
        ) from None
    return identity


def make_way(file: Path) -> None:
    """Remove that of a daemon that crashed, and see that ours can be written once we are ready.

    It would send clients to the process that has that port now. Raises ConfigurationError.
    """
    trial = file.with_name(f"{file.name}.trial")
    try:
        file.unlink(missing_ok=True)
        write_private(trial, bytes(1024))  # more than it will hold
        trial.unlink()
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be written: {error.strerror}; remove what is there, make room, or name"
            " another runtime_dir",
            path=file,
        ) from None
