"""The end of a process whose work is over: it has time to exit, then it is ended."""

from __future__ import annotations

import signal
from collections.abc import Callable

import anyio

from hive_subagent.claude.outcome import Exit
from hive_subagent.claude.process import RunningClaude
from hive_subagent.runs.background import BackgroundWait
from hive_subagent.runs.ladder import Ladder

LAST_WORD_S = 2.0
"""Seconds that a process which does not exit has between SIGTERM and the end of its tree."""


async def see_out(
    claude: RunningClaude,
    *,
    wait: BackgroundWait | None,
    grace_s: float,
    ladder: Callable[[], Ladder | None],
) -> Exit | None:
    """Wait for the exit; what it was, unless it was only our doing.

    An exit that we cause because none came says nothing about the turn. `wait` knows what claude
    still has to do, `grace_s` is its time once that is nothing; without any it is ended at once.
    `ladder` is the interrupt that is under way, if there is one.
    """
    if claude.broken is None and grace_s > 0:
        if wait is not None:
            await wait.exited()
        else:
            with anyio.move_on_after(grace_s):
                await claude.exited()
    by_itself = claude.exit
    if by_itself is None and ladder() is None:
        claude.signal(signal.SIGTERM)
        with anyio.move_on_after(min(LAST_WORD_S, grace_s or LAST_WORD_S)):
            await claude.exited()
    if (climbing := ladder()) is not None:
        await climbing.over.wait()
    return by_itself
