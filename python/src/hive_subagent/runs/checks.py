"""What a call must bring. Each refusal is one line that names the culprit and the mend."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

from hive_subagent.errors import Refused

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


def check_name(name: str) -> str:
    """`name` if it is one: `[a-z0-9-]`, 1 to 63 characters, not starting with "-"."""
    if not NAME.fullmatch(name):
        raise Refused(
            f"name {name[:80]!r} is not usable: use 1 to 63 of a-z, 0-9 and -, not starting with -"
        )
    return name


def check_text(what: str, text: str) -> str:
    """`text` if it says something and is not too long for claude."""
    if not text.strip():
        raise Refused(f"{what} is blank: say what the subagent is to do")
    if len(text.encode("utf-8", "replace")) > PROMPT_LIMIT:
        raise Refused(f"{what} is over {PROMPT_LIMIT} bytes: put it into a file and name the file")
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
    """The absolute directory `path` means below `base`."""
    directory = _absolute(path, base, "dir")
    if not os.path.isdir(directory):  # Path.is_dir raises where a parent may not be entered
        raise Refused(f"dir {directory} is not a directory: name an existing one")
    if not os.access(directory, os.X_OK | os.R_OK):
        raise Refused(f"dir {directory} may not be entered: grant the daemon's user access")
    return directory


def check_report_file(path: str, *, base: Path) -> str:
    """The absolute path of a report file; its directory must exist."""
    file = _absolute(path, base, "report_file")
    if os.path.isdir(file) or not os.path.isdir(file.parent):
        raise Refused(f"report_file {file} cannot be a file there: name one in an existing folder")
    return str(file)


def read_brief(path: str, *, base: Path) -> bytes:
    """The bytes of a prompt file; only a regular, readable, non-blank one of bounded size."""
    file = _absolute(path, base, "prompt_file")
    try:
        # a FIFO would block the open
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"prompt_file {file}: {error.strerror}; name a readable file") from None
    with open(descriptor, "rb") as stream:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise Refused(f"prompt_file {file} is not a regular file: write the brief into one")
        if about.st_size > BRIEF_LIMIT:
            raise Refused(f"prompt_file {file} is over {BRIEF_LIMIT} bytes: shorten the brief")
        brief = stream.read(BRIEF_LIMIT + 1)
    if not brief.strip():
        raise Refused(f"prompt_file {file} is blank: write the brief into it")
    return brief


def check_program(program: str, search: str | None) -> str:
    """The path of the claude to spawn."""
    found = shutil.which(program, path=search)
    if found is None:
        raise Refused(f"claude_bin {program!r} is not an executable on PATH: install it or set it")
    return found


def _absolute(path: str | Path, base: Path, what: str) -> Path:
    if "\0" in str(path):
        raise Refused(f"{what} holds a NUL byte: name a path")
    # Path.expanduser raises for a user that does not exist
    return Path(os.path.abspath(base / os.path.expanduser(path)))
