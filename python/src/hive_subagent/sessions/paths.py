"""The paths that a call names, looked at in threads: a file system may never answer.

The coroutines return what the function of the same subject does (`directory`: `check_directory`),
and raise Refused as that does and when there is no answer in time.
"""

from __future__ import annotations

import os
import stat
import sys
from functools import partial
from io import FileIO
from pathlib import Path

from hive_subagent.claude import transcripts
from hive_subagent.errors import Refused
from hive_subagent.sessions.checks import BRIEF_LIMIT, PATH_LIMIT, check_text
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.system.blocking import in_thread
from hive_subagent.system.sanitize import excerpt


async def directory(path: str, *, base: Path) -> Path:
    """The absolute directory that `path` means below `base`."""
    look = partial(check_directory, path, base=base)
    return await in_thread(look, what=f"dir {excerpt(path or str(base))}")


async def directory_of(record: SessionRecord, path: str, *, base: Path, config_dir: Path) -> Path:
    """The directory that a session goes on in; `path` below `base`, unless blank, has to mean it.

    Raises Refused also where that directory is gone, or a link that leads elsewhere.
    """
    look = partial(_directory_of, record, path, base, config_dir)
    return await in_thread(look, what=f"dir {excerpt(path or record.dir)}")


def _directory_of(record: SessionRecord, path: str, base: Path, config_dir: Path) -> Path:
    started = f"subagent `{record.name}` was started in {excerpt(record.dir)}"
    fix = (
        "claude keeps a session by that path and cannot move it. Put the directory back there, or"
        " `start` the session anew"
    )
    try:
        os.stat(record.dir)
    except (FileNotFoundError, NotADirectoryError):
        raise Refused(
            f"{started}, and nothing is there any more: {fix}", name=record.name, path=record.dir
        ) from None
    except OSError:
        pass  # what cannot be looked at need not be gone, and is named below
    found = check_directory(record.dir, base=Path("/"))
    if str(found) != record.dir:
        # an older record holds the path as it was given; the transcript says what that meant
        transcript = transcripts.transcript_path(config_dir, found, record.session_id)
        if not os.path.isfile(transcript):
            raise Refused(
                f"{started}, which now leads to {excerpt(str(found))}: {fix}",
                name=record.name,
                path=found,
            )
    if path and not os.path.samefile(given := check_directory(path, base=base), found):
        raise Refused(
            f"{started}, not in {excerpt(str(given))}: leave `dir` out, it cannot move a session",
            name=record.name,
            path=given,
        )
    return found


async def report_file(path: str, *, base: Path) -> str:
    """The absolute path of a report file, there or not."""
    look = partial(check_report_file, path, base=base)
    return await in_thread(look, what=f"report_file {excerpt(path)}")


async def brief(prompt: str | None, prompt_file: str | None, *, base: Path) -> bytes:
    """The bytes of a brief, given as it is or as a file."""
    if prompt_file is None:
        return check_brief(prompt, prompt_file, base=base)
    look = partial(check_brief, prompt, prompt_file, base=base)
    return await in_thread(look, what=f"prompt_file {excerpt(prompt_file)}")


def check_directory(path: str | Path, *, base: Path) -> Path:
    """The absolute directory `path` means below `base`, its links resolved.

    Claude keeps a session under the resolved path: a link that is turned later must not lead a
    session to another directory.
    """
    directory = _absolute(_real(_absolute(path, base, "dir"), "dir"), base, "dir")
    shown = f"dir {excerpt(str(directory))}"
    if not os.path.isdir(directory):  # Path.is_dir raises where a parent may not be entered
        raise Refused(
            f"{shown} is not a directory: name an existing one", name="dir", path=directory
        )
    if not os.access(directory, os.X_OK | os.R_OK):
        raise Refused(
            f"{shown} may not be entered: grant the daemon's user access",
            name="dir",
            path=directory,
        )
    return directory


def check_report_file(path: str, *, base: Path) -> str:
    """The absolute path of a report file, there or not; its directory must exist.

    Links among its parents are resolved here, once: a subagent that later turns one of them into a
    link elsewhere does not move the file.
    """
    file = _absolute(path, base, "report_file")
    shown = f"report_file {excerpt(str(file))}"
    if not os.path.isdir(file.parent):
        raise Refused(
            f"{shown} cannot be a file there: name one in an existing folder",
            name="report_file",
            path=file,
        )
    file = Path(_real(file.parent, "report_file"), file.name)
    try:
        mode = os.lstat(file).st_mode
    except FileNotFoundError:
        return str(file)
    except OSError as error:
        raise Refused(
            f"{shown}: {error.strerror}; name another file", name="report_file", path=file
        ) from None
    if stat.S_ISLNK(mode):
        raise Refused(
            f"{shown} is a symbolic link: name the file it points to", name="report_file", path=file
        )
    if not stat.S_ISREG(mode):
        raise Refused(
            f"{shown} is not a regular file: name one, or a new one", name="report_file", path=file
        )
    return str(file)


def check_brief(prompt: str | None, prompt_file: str | None, *, base: Path) -> bytes:
    """The bytes of a brief, given as it is or as a file: exactly one of the two."""
    if prompt_file is not None and prompt is None:
        return read_brief(prompt_file, base=base)
    if prompt is None:
        raise Refused(
            "prompt is missing: say in `prompt` what the subagent is to do, or name a file that"
            " says it in `prompt_file`",
            name="prompt",
        )
    if prompt_file is not None:
        raise Refused(
            "prompt and prompt_file are both given: leave one of them out",
            name="prompt_file",
            path=prompt_file,
        )
    if _is_blank(prompt):
        raise Refused("prompt is blank: say what the subagent is to do", name="prompt")
    brief = check_text("prompt", prompt, limit=sys.maxsize).encode()
    # the bound of a file: both become the same part of claude's system prompt
    if len(brief) > BRIEF_LIMIT:
        raise Refused(
            f"prompt is over {BRIEF_LIMIT} bytes: shorten the brief",
            name="prompt",
            limit=BRIEF_LIMIT,
        )
    return brief


def read_brief(path: str, *, base: Path) -> bytes:
    """The bytes of a prompt file.

    Raises Refused unless it is a regular, readable file of bounded size that holds text in UTF-8.
    """
    file = _absolute(path, base, "prompt_file")
    shown = f"prompt_file {excerpt(str(file))}"
    try:
        # before it is opened: that alone makes some devices do something
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise Refused(
                f"{shown} is not a regular file: write the brief into one",
                name="prompt_file",
                path=file,
            )
        with open(file, "rb", buffering=0, opener=_without_waiting) as stream:
            brief = _read(stream, BRIEF_LIMIT + 1)
    except OSError as error:
        raise Refused(
            f"{shown}: {error.strerror}; name a readable file", name="prompt_file", path=file
        ) from None
    if len(brief) > BRIEF_LIMIT:
        raise Refused(
            f"{shown} is over {BRIEF_LIMIT} bytes: shorten the brief",
            name="prompt_file",
            path=file,
            limit=BRIEF_LIMIT,
        )
    if _is_blank(_utf8(brief, file)):
        raise Refused(f"{shown} is blank: write the brief into it", name="prompt_file", path=file)
    return brief


def _is_blank(brief: str) -> bool:
    # a byte order mark is all that some editors leave in an empty file
    return not brief.strip().strip("\ufeff").strip()


def _utf8(content: bytes, file: Path) -> str:
    """The content of `file` as text. Raises Refused, naming the first byte that is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Refused(
            f"prompt_file {excerpt(str(file))} is not UTF-8: byte 0x{content[error.start]:02x} at"
            f" offset {error.start} (line {line}); save it as UTF-8",
            name="prompt_file",
            path=file,
        ) from None


def _without_waiting(path: str, flags: int) -> int:
    # a FIFO that took the file's place would block the open
    return os.open(path, flags | os.O_NONBLOCK)


def _read(stream: FileIO, size: int) -> bytes:
    """At most `size` bytes. Some files of /proc have no size, and some make a reader wait."""
    data = b""
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


def _real(path: Path, what: str) -> str:
    try:
        return os.path.realpath(path)
    except OSError as error:  # a link that this user may not read, as some of /proc are
        raise Refused(
            f"{what} {excerpt(str(path))}: {error.strerror}; name another", name=what, path=path
        ) from None


def _absolute(path: str | Path, base: Path, what: str) -> Path:
    if "\0" in str(path):
        raise Refused(f"{what} holds a NUL byte: name a path", name=what)
    # Path.expanduser raises for a user that does not exist
    found = os.path.abspath(base / os.path.expanduser(path))
    try:
        size = len(found.encode())
    except UnicodeEncodeError:
        raise Refused(
            f"{what} {excerpt(found)} is not UTF-8, and claude cannot open it: rename it",
            name=what,
            path=found,
        ) from None
    if size >= PATH_LIMIT:
        raise Refused(
            f"{what} is longer than a path can be: shorten it", name=what, limit=PATH_LIMIT
        )
    return Path(found)
