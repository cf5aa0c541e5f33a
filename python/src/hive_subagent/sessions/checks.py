"""What a call must bring. Each refusal is one line that names the culprit and the mend."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from io import FileIO
from pathlib import Path

from hive_subagent.errors import Refused
from hive_subagent.system.sanitize import excerpt

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)

BRIEF_LIMIT = 4 * 1024 * 1024
"""Bytes of a brief; four times what the largest context window takes."""

PROMPT_LIMIT = 9 * 1024 * 1024
"""Bytes of a prompt; claude itself refuses 10 MB on stdin."""

GOAL_LIMIT = 64 * 1024
"""Bytes of a goal."""

MODEL_LIMIT = 300
"""Characters of a model's name."""

MAX_TURNS_LIMIT = 1_000

PATH_LIMIT = 4096
"""Bytes of a path with its terminator, as the kernel counts."""


def check_name(name: str) -> str:
    """`name` if it is one: `[a-z0-9-]`, 1 to 63 characters, not starting with "-"."""
    if not NAME.fullmatch(name):
        raise Refused(
            f"name {name[:80]!r} is not usable: use 1 to 63 of a-z, 0-9 and -, not starting with -"
        )
    return name


def check_text(what: str, text: str, *, limit: int = PROMPT_LIMIT) -> str:
    """`text` if it says something and has at most `limit` bytes."""
    if not text.strip():
        raise Refused(f"{what} is blank: say what the subagent is to do")
    if len(text.encode("utf-8", "replace")) > limit:
        raise Refused(f"{what} is over {limit} bytes: put it into a file and name the file")
    return text


def check_goal(goal: str) -> str | None:
    """`goal` without blanks around it; None for an empty one. It is repeated in every turn."""
    if len(goal.encode("utf-8", "replace")) > GOAL_LIMIT:
        raise Refused(f"goal is over {GOAL_LIMIT} bytes: name it, and put the rest in the brief")
    return goal.strip() or None


def check_model(model: str) -> str | None:
    """`model` if it can be one; None for an empty one. Which there are is claude's to know."""
    if len(model) > MODEL_LIMIT or not model.isprintable():
        raise Refused(f"model {model[:80]!r} is not usable: name one as claude's --model takes it")
    return model.strip() or None


def check_max_turns(max_turns: int) -> int:
    """`max_turns` if it is from 1 to 1000."""
    if not 1 <= max_turns <= MAX_TURNS_LIMIT:
        raise Refused(f"max_turns {max_turns} is out of range: give 1 to {MAX_TURNS_LIMIT}")
    return max_turns


def check_directory(path: str | Path, *, base: Path) -> Path:
    """The absolute directory `path` means below `base`, its links resolved.

    Claude keeps a session under the resolved path: a link that is turned later must not lead a
    session to another directory.
    """
    directory = _absolute(_real(_absolute(path, base, "dir"), "dir"), base, "dir")
    shown = f"dir {excerpt(str(directory))}"
    if not os.path.isdir(directory):  # Path.is_dir raises where a parent may not be entered
        raise Refused(f"{shown} is not a directory: name an existing one")
    if not os.access(directory, os.X_OK | os.R_OK):
        raise Refused(f"{shown} may not be entered: grant the daemon's user access")
    return directory


def check_report_file(path: str, *, base: Path) -> str:
    """The absolute path of a report file, there or not; its directory must exist.

    Links among its parents are resolved here, once: a subagent that later turns one of them into a
    link elsewhere does not move the file.
    """
    file = _absolute(path, base, "report_file")
    shown = f"report_file {excerpt(str(file))}"
    if not os.path.isdir(file.parent):
        raise Refused(f"{shown} cannot be a file there: name one in an existing folder")
    file = Path(_real(file.parent, "report_file"), file.name)
    try:
        mode = os.lstat(file).st_mode
    except FileNotFoundError:
        return str(file)
    except OSError as error:
        raise Refused(f"{shown}: {error.strerror}; name another file") from None
    if stat.S_ISLNK(mode):
        raise Refused(f"{shown} is a symbolic link: name the file it points to")
    if not stat.S_ISREG(mode):
        raise Refused(f"{shown} is not a regular file: name one, or a new one")
    return str(file)


def check_brief(prompt: str | None, prompt_file: str | None, *, base: Path) -> bytes:
    """The bytes of a brief, given as it is or as a file: exactly one of the two."""
    if prompt_file is not None and prompt is None:
        return read_brief(prompt_file, base=base)
    if prompt is None:
        raise Refused(
            "prompt is missing: say in `prompt` what the subagent is to do, or name a file that"
            " says it in `prompt_file`"
        )
    if prompt_file is not None:
        raise Refused("prompt and prompt_file are both given: leave one of them out")
    if _is_blank(prompt):
        raise Refused("prompt is blank: say what the subagent is to do")
    brief = check_text("prompt", prompt, limit=sys.maxsize).encode()
    # the bound of a file: both become the same part of claude's system prompt
    if len(brief) > BRIEF_LIMIT:
        raise Refused(f"prompt is over {BRIEF_LIMIT} bytes: shorten the brief")
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
            raise Refused(f"{shown} is not a regular file: write the brief into one")
        with open(file, "rb", buffering=0, opener=_without_waiting) as stream:
            brief = _read(stream, BRIEF_LIMIT + 1)
    except OSError as error:
        raise Refused(f"{shown}: {error.strerror}; name a readable file") from None
    if len(brief) > BRIEF_LIMIT:
        raise Refused(f"{shown} is over {BRIEF_LIMIT} bytes: shorten the brief")
    if _is_blank(_utf8(brief, shown)):
        raise Refused(f"{shown} is blank: write the brief into it")
    return brief


def _is_blank(brief: str) -> bool:
    # a byte order mark is all that some editors leave in an empty file
    return not brief.strip().strip("\ufeff").strip()


def _utf8(content: bytes, shown: str) -> str:
    """`content` as text. Raises Refused, naming the first byte that is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Refused(
            f"{shown} is not UTF-8: byte 0x{content[error.start]:02x} at offset {error.start}"
            f" (line {line}); save it as UTF-8"
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


def check_program(program: str, search: str | None) -> str:
    """The path of the claude to spawn."""
    found = shutil.which(program, path=search)
    if found is None:
        raise Refused(f"claude_bin {program!r} is not an executable on PATH: install it or set it")
    # a session has a directory of its own, and a relative path would count from there
    return os.path.abspath(found)


def _real(path: Path, what: str) -> str:
    try:
        return os.path.realpath(path)
    except OSError as error:  # a link that this user may not read, as some of /proc are
        raise Refused(f"{what} {excerpt(str(path))}: {error.strerror}; name another") from None


def _absolute(path: str | Path, base: Path, what: str) -> Path:
    if "\0" in str(path):
        raise Refused(f"{what} holds a NUL byte: name a path")
    # Path.expanduser raises for a user that does not exist
    found = os.path.abspath(base / os.path.expanduser(path))
    try:
        size = len(found.encode())
    except UnicodeEncodeError:
        raise Refused(
            f"{what} {excerpt(found)} is not UTF-8, and claude cannot open it: rename it"
        ) from None
    if size >= PATH_LIMIT:
        raise Refused(f"{what} is longer than a path can be: shorten it")
    return Path(found)
