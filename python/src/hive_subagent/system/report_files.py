"""Report files: each ending of a run is appended to those that its owner or its subagent named.

A subagent names a file with words, and the daemon writes it with its own rights. So its file is
opened beneath the session's directory only, without following a link anywhere: otherwise a
subagent that may not write to `~/.bashrc` itself could have the daemon do it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hive_subagent.system.private_files import open_plainly
from hive_subagent.system.sanitize import on_lines, on_one_line


class _Unusable(Exception):
    """The file cannot be written to; the text says why."""


def append_report(path: Path, text: str, *, beneath: Path | None = None) -> str | None:
    """Append `text` to a report file (created 0600), on lines of its own.

    Returns None, or one line that says why it was not written: a bad report file must not cost a
    run its ending. `path` is absolute; no link in it is followed. With `beneath`, for a file that
    a subagent named, it must lie in that directory and be no second name of another file.
    Parents are not created. Control characters are written as escapes.
    """
    try:
        with _opened(path, beneath) as descriptor:
            _append(descriptor, text)
    except (_Unusable, OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        return f"report file {on_one_line(str(path))} was not written: {reason}"
    return None


@contextmanager
def _opened(path: Path, beneath: Path | None) -> Iterator[int]:
    if beneath is None:
        top, parts = Path("/"), path.parts[1:]
    else:
        top = beneath
        # as written, without looking at the disk: a link would be refused below anyway
        relative = Path(os.path.normpath(beneath / path))
        if not relative.is_relative_to(beneath) or relative == beneath:
            raise _Unusable(f"it does not lie in {beneath}, the directory of the session")
        parts = relative.relative_to(beneath).parts
    if not parts:
        raise _Unusable("it is a directory")
    folder = os.open(top, os.O_PATH | os.O_DIRECTORY)
    try:
        # one component at a time: with neither ".." nor a link this is as narrow as openat2 with
        # RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, and needs no kernel of its own
        for part in parts[:-1]:
            inner = _open_folder(part, folder)
            os.close(folder)
            folder = inner
        descriptor = _open_file(parts[-1], folder, second_names=beneath is None)
    finally:
        os.close(folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_folder(name: str, folder: int) -> int:
    with suppress(FileNotFoundError):
        if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            raise _Unusable(f"{on_one_line(name)} in its path is a symbolic link: not followed")
    try:
        return open_plainly(name, os.O_PATH | os.O_DIRECTORY, beneath=folder)
    except FileNotFoundError:
        raise _Unusable("its directory does not exist") from None


def _open_file(name: str, folder: int, *, second_names: bool) -> int:
    # looked at before it is opened: that alone makes some devices do something
    with suppress(FileNotFoundError):
        mode = os.lstat(name, dir_fd=folder).st_mode
        if stat.S_ISLNK(mode):
            raise _Unusable("a symbolic link, which is not followed")
        if not stat.S_ISREG(mode):
            raise _Unusable("not a regular file")
    descriptor = open_plainly(name, os.O_RDWR | os.O_APPEND | os.O_CREAT, beneath=folder)
    found = os.fstat(descriptor)
    problem = ""
    if not stat.S_ISREG(found.st_mode):
        problem = "not a regular file"
    elif found.st_nlink > 1 and not second_names:
        problem = "it is a second name of another file (a hard link)"
    if problem:
        os.close(descriptor)
        raise _Unusable(problem)
    return descriptor


def _append(descriptor: int, text: str) -> None:
    size = os.fstat(descriptor).st_size
    # models often leave the last line of a file without its end
    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    # a lone surrogate cannot be encoded, and stands there as its escape
    content = on_lines(text).encode("utf-8", "backslashreplace")
    left = memoryview(b"\n" * torn + content + b"\n" * (not content.endswith(b"\n")))
    while left:
        left = left[os.write(descriptor, left) :]
