"""The arguments of a call. Each refusal is one line that says what is wrong and how to fix it."""

from __future__ import annotations

import os
import re
import shutil

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

PATH_LIMIT = 4096
"""Bytes of a path with its terminator, as the kernel counts."""


def check_name(name: str) -> str:
    """`name` if it is one: `[a-z0-9-]`, 1 to 63 characters, not starting with "-"."""
    if not NAME.fullmatch(name):
        raise Refused(
            f"name {name[:80]!r} is not usable: use 1 to 63 of a-z, 0-9 and -, not starting with -",
            name=name,
        )
    return name


def check_text(what: str, text: str, *, limit: int = PROMPT_LIMIT) -> str:
    """`text` if it says something and has at most `limit` bytes."""
    if not text.strip():
        raise Refused(f"{what} is blank: say what the subagent is to do", name=what)
    if len(text.encode("utf-8", "replace")) > limit:
        raise Refused(
            f"{what} is over {limit} bytes: put it into a file and name the file",
            name=what,
            limit=limit,
        )
    return text


def check_goal(goal: str) -> str | None:
    """`goal` without blanks around it; None for an empty one. It is repeated in every turn."""
    if len(goal.encode("utf-8", "replace")) > GOAL_LIMIT:
        raise Refused(
            f"goal is over {GOAL_LIMIT} bytes: name it, and put the rest in the brief",
            name="goal",
            limit=GOAL_LIMIT,
        )
    return goal.strip() or None


def check_model(model: str) -> str | None:
    """`model` if it can be one; None for an empty one. Which there are is claude's to know."""
    if len(model) > MODEL_LIMIT or not model.isprintable():
        raise Refused(
            f"model {model[:80]!r} is not usable: name one as claude's --model takes it",
            name="model",
            limit=MODEL_LIMIT,
        )
    return model.strip() or None


def check_max_turns(max_turns: int) -> int:
    """`max_turns` if it is from 1 to 1000."""
    if not 1 <= max_turns <= MAX_TURNS_LIMIT:
        raise Refused(
            f"max_turns {max_turns} is out of range: give 1 to {MAX_TURNS_LIMIT}",
            name="max_turns",
            limit=MAX_TURNS_LIMIT,
        )
    return max_turns


def check_program(program: str, search: str | None) -> str:
    """The path of the claude to spawn."""
    found = shutil.which(program, path=search)
    if found is None:
        raise Refused(
            f"claude_bin {program!r} is not an executable on PATH: install it or set it",
            kind="failed",
            name="claude_bin",
            path=program,
        )
    # a session has a directory of its own, and a relative path would count from there
    return os.path.abspath(found)
