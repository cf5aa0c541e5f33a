"""Private files and directories: read only where they are ours, written whole or not at all.

What has to survive a power failure is written with `durable=True`: the file is flushed before it
gets its name, and the directory after that. Without it a crash of this process loses nothing, and a
crash of the machine may leave the file as it was before, empty, or missing.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from hive_subagent.errors import ConfigurationError

LARGEST = 64 * 1024 * 1024
"""Bytes of a file of ours that are read; we write no such file."""


class Unusable(OSError):
    """What lies at a path is no file of ours. Reading it again would not help.

    Any other OSError says that it could not be read now: too many open files, a disk error.
    """


# what opening something says that is no regular file: a link, a directory, a socket
_NOT_A_FILE = (errno.ELOOP, errno.EISDIR, errno.ENXIO)


def open_plainly(path: str | os.PathLike[str], flags: int, *, beneath: int | None = None) -> int:
    """Open without following a link in the last component, and without waiting for a pipe.

    Returns the descriptor, which no child inherits. A file that is made has the mode 0600.
    `beneath` is the descriptor of the directory that a relative path starts from. Raises OSError.
    """
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600, dir_fd=beneath)


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
        descriptor = open_plainly(path, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ValueError) as error:
        if os.path.islink(path):  # Path.is_symlink raises where no path can be that long
            raise ConfigurationError(
                f"directory {path} is a symbolic link; name the directory it points to",
                path=path,
            ) from None
        raise ConfigurationError(
            f"directory {path} cannot be used: {reason_of(error)}; name one that can be created",
            path=path,
        ) from None
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid():
            raise ConfigurationError(
                f"directory {path} belongs to uid {found.st_uid}, not to uid {os.geteuid()};"
                " name one of our own",
                path=path,
            )
        if stat.S_IMODE(found.st_mode) != 0o700:
            os.fchmod(descriptor, 0o700)
    except OSError as error:
        raise ConfigurationError(
            f"directory {path} cannot be made private: {reason_of(error)}; name another", path=path
        ) from None
    finally:
        os.close(descriptor)


def read_private(path: Path) -> bytes:
    """The content of a regular file, links not followed.

    Raises Unusable when something else lies there, OSError when it cannot be read now.
    """
    with _opened(path) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Unusable(None, "it is not a regular file", str(path))
        return _bounded(file)


def read_ours(path: Path) -> bytes:
    """As `read_private`, of a file that only we or root can have written; its mode is made 0600.

    Raises Unusable when it is not such a file, OSError when it cannot be read now.
    """
    with _opened(path) as file:
        make_ours(file.fileno(), path)
        return _bounded(file)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        file = open(path, "rb", opener=open_plainly)  # noqa: SIM115
    except OSError as error:
        if error.errno in _NOT_A_FILE:
            raise Unusable(error.errno, error.strerror, str(path)) from None
        raise
    with file:
        yield file


def _bounded(file: BinaryIO) -> bytes:
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise Unusable(None, f"it is larger than {LARGEST} bytes", file.name)
    return content


def check_ours(path: Path) -> None:
    """Raise Unusable or OSError for a file that `read_ours` would not read."""
    with _opened(path) as file:
        make_ours(file.fileno(), path)


def make_ours(descriptor: int, path: Path) -> None:
    """Make the mode of an open file 0600.

    Raises Unusable unless it is a regular file of ours or root's, OSError when the mode cannot be
    changed.
    """
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise Unusable(None, "it is not a regular file", str(path))
    if found.st_uid not in (os.geteuid(), 0):
        raise Unusable(
            None, f"it belongs to uid {found.st_uid}, not to uid {os.geteuid()}", str(path)
        )
    if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) != 0o600:
        os.fchmod(descriptor, 0o600)


def write_private(
    path: Path, content: bytes, *, durable: bool = False, name_later: bool = False
) -> None:
    """Replace `path` (0600) whole or not at all; a link there is replaced, not followed.

    `name_later`: the caller flushes the directory when it writes there what leads to this file.
    Raises OSError, and then `path` is as it was; only where flushing the directory failed is it
    replaced already, for as long as the machine runs.
    """
    draft, descriptor = new_draft(path)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    if durable and not name_later:
        sync_directory(path.parent)


def new_draft(path: Path) -> tuple[Path, int]:
    """A new empty file (0600) beside `path`, open for writing: its path and descriptor."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    descriptor = open_plainly(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.fchmod(descriptor, 0o600)  # the umask may have taken our own bits
    except BaseException:
        os.close(descriptor)
        with suppress(OSError):
            os.unlink(draft)
        raise
    return draft, descriptor


def sync_directory(path: Path) -> None:
    """Flush the names in a directory to the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # some network file systems cannot do this to a directory, and need not
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def reason_of(error: OSError | ValueError) -> str:
    """What the error says, without the path that it says it of."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
