"""Processes of a run as people know them: by the command, not by the way claude starts it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from hive_subagent.models.session import ProcessInfo

COMMAND_LIMIT = 200
"""Characters of a command that are shown."""

# how `build_argv` begins, whatever program it is that stands for claude
_CLAUDE = re.compile(r"(\S+) -p --verbose --input-format=stream-json ")

# a tool's command is run as `/bin/bash -c source …/shell-snapshots/snapshot-….sh … && eval
# 'COMMAND' < /dev/null && pwd -P >| …` (2.1.197 and 2.1.332), with '"'"' for each quote in it;
# the line may be cut anywhere
_TOOL = re.compile(
    r"\S+ -c (?:-l )?source \S*/shell-snapshots/.*?\beval '((?:[^']|'\"'\"')*)", re.DOTALL
)


class _Process(Protocol):
    @property
    def pid(self) -> int: ...

    @property
    def command(self) -> str: ...


def as_known(processes: Iterable[_Process]) -> dict[int, ProcessInfo]:
    """The processes by pid, each with the command that somebody asked for."""
    return {
        process.pid: ProcessInfo(pid=process.pid, command=command_of(process.command))
        for process in processes
    }


def command_of(line: str) -> str:
    """What a process does, from its argv by spaces; cut at `COMMAND_LIMIT` characters."""
    if started := _CLAUDE.search(line):
        line = started[1].rpartition("/")[2]
    elif tool := _TOOL.match(line):
        line = tool[1].replace("'\"'\"'", "'")
    return line[:COMMAND_LIMIT]
