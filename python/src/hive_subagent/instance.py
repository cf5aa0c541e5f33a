"""What makes one daemon this daemon: its private directories, its locks, its files.

Nothing here calls fsync: files have to survive the daemon's death, which the page cache does,
not the machine's, after which no child is left to tell about.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from hive_subagent.directories import LOCK_NAME
from hive_subagent.errors import ConfigurationError

IDENTITY_NAME = "identity"

LARGEST = 64 * 1024 * 1024
"""Bytes of a file of ours that are read; we write no such file."""

_IDENTITY = re.compile(rb"[0-9a-f]{32}")

logger = logging.getLogger(__name__)


def private_directory(path: Path) -> None:
    """Make `path` a directory that only we can enter: create it 0700, or check and tighten it.

    Raises ConfigurationError when it cannot be created, is a link, or belongs to somebody else.
    """
    try:
        # parents too, whatever the umask is
        for missing in reversed([p for p in (path, *path.parents) if not os.path.lexists(p)]):
            with suppress(FileExistsError):
                missing.mkdir(mode=0o700)
                missing.chmod(0o700)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        if path.is_symlink():
            raise ConfigurationError(
                f"directory {path} is a symbolic link; name the directory it points to"
            ) from None
        raise ConfigurationError(
            f"directory {path} cannot be used: {_reason(error)}; name one that can be created"
        ) from None
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid():
            raise ConfigurationError(
                f"directory {path} belongs to uid {found.st_uid}, not to uid {os.geteuid()};"
                " name one of our own"
            )
        if stat.S_IMODE(found.st_mode) != 0o700:
            os.fchmod(descriptor, 0o700)
    except OSError as error:
        raise ConfigurationError(
            f"directory {path} cannot be made private: {_reason(error)}; name another"
        ) from None
    finally:
        os.close(descriptor)


class HeldLock:
    """An open file with our flock; ends with `release`, the `with` block, or the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Give it free, again is harmless; the file stays: removing it would let two in at once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def lock_directory(path: Path, about: dict[str, Any]) -> HeldLock:
    """Lock `path` for this daemon and write `about` (JSON, `pid` is added) into the lock file.

    Raises ConfigurationError that names the holder's pid when another daemon has it.
    """
    file = path / LOCK_NAME
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigurationError(
            f"lock {file} cannot be opened: {_reason(error)}; make it a file of ours or remove it"
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        make_ours(descriptor, file)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({**about, "pid": os.getpid()}).encode() + b"\n")
    except BlockingIOError:
        holder = lock_holder(descriptor) or _noted_pid(descriptor)
        os.close(descriptor)
        if holder == os.getpid():
            raise ConfigurationError(
                f"directory {path} is named twice; state_dir and runtime_dir must differ"
            ) from None
        who = f"the daemon with pid {holder}" if holder else "another daemon"
        raise ConfigurationError(
            f"directory {path} is in use by {who};"
            " stop it, or give this one its own state_dir and runtime_dir"
        ) from None
    except OSError as error:
        os.close(descriptor)
        raise ConfigurationError(
            f"lock {file} cannot be taken: {_reason(error)}; remove it, or name a directory on a"
            " local disk"
        ) from None
    return HeldLock(descriptor)


def lock_holder(descriptor: int) -> int | None:
    """The pid that holds a flock on this open file, as far as the kernel tells; else None."""
    wanted = os.fstat(descriptor)
    device = f"{os.major(wanted.st_dev):02x}:{os.minor(wanted.st_dev):02x}"
    holders: dict[str, int] = {}
    with suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            # "1: FLOCK  ADVISORY  WRITE 4242 fe:00:1234 0 EOF"; waiters have "->" after the number
            fields = line.split()
            if len(fields) == 8 and fields[1] == "FLOCK":
                where, _, inode = fields[5].rpartition(":")
                if inode == str(wanted.st_ino) and fields[4].isdecimal():
                    holders[where] = int(fields[4])
    # btrfs and overlayfs show another device there than fstat does
    pid = holders.get(device) or (next(iter(holders.values())) if len(holders) == 1 else 0)
    return pid or None  # 0: the holder lives in a pid namespace that we do not see


def _noted_pid(descriptor: int) -> int | None:
    try:
        pid = json.loads(os.pread(descriptor, 65536, 0))["pid"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return pid if isinstance(pid, int) else None


def state_identity(state_dir: Path) -> str:
    """The random id (32 hex digits) of this state directory, made once and kept in `identity`.

    Processes started from it carry the id, so another daemon's children are never taken for ours.
    Call it with the directory locked. Raises ConfigurationError when it can neither be read nor
    made.
    """
    file = state_dir / IDENTITY_NAME
    try:
        with suppress(FileNotFoundError):
            known = read_ours(file).strip()
            if _IDENTITY.fullmatch(known):
                return known.decode()
            logger.warning("%s does not hold an identity; it is made anew", file)
        fresh = secrets.token_hex(16)
        write_private(file, fresh.encode() + b"\n")
    except OSError as error:
        raise ConfigurationError(
            f"identity {file} cannot be read or made: {_reason(error)};"
            " make it a file of ours or remove it"
        ) from None
    return fresh


def read_private(path: Path) -> bytes:
    """The content of a regular file, links not followed. Raises OSError."""
    with open(path, "rb", opener=_not_following) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is not a regular file")
        return _bounded(file)


def read_ours(path: Path) -> bytes:
    """As `read_private`, of a file that only we or root can have written; its mode is made 0600.

    Raises OSError.
    """
    with open(path, "rb", opener=_not_following) as file:
        make_ours(file.fileno(), path)
        return _bounded(file)


def _bounded(file: BinaryIO) -> bytes:
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(None, f"it is larger than {LARGEST} bytes", file.name)
    return content


def check_ours(path: Path) -> None:
    """Raise OSError for a file that somebody else can have written, as `read_ours` does."""
    with open(path, "rb", opener=_not_following) as file:
        make_ours(file.fileno(), path)


def _not_following(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def make_ours(descriptor: int, path: Path) -> None:
    """Raise OSError unless the open file is a regular one of ours or root's; make its mode 0600."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(f"{path} is not a regular file")
    if found.st_uid not in (os.geteuid(), 0):
        raise OSError(f"it belongs to uid {found.st_uid}, not to uid {os.geteuid()}")
    if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) != 0o600:
        os.fchmod(descriptor, 0o600)


def write_private(path: Path, content: bytes) -> None:
    """Replace `path` (0600) whole or not at all; a link there is replaced, not followed.

    Raises OSError, and then `path` is as it was.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(
        draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)  # the umask may have taken our own bits
            file.write(content)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
