"""The end of a process whose work is over: it has time to exit, then it is ended."""

from __future__ import annotations

import signal
from collections.abc import Callable

import anyio

from hive_subagent.claude.commands import as_known
from hive_subagent.claude.outcome import Exit
from hive_subagent.claude.process import RunningClaude
from hive_subagent.containment.interface import Enclosure
from hive_subagent.models.session import ProcessInfo
from hive_subagent.sessions.background import BackgroundWait
from hive_subagent.sessions.stopping import Ladder

LAST_WORD_S = 2.0
"""Seconds that a process which does not exit has between SIGTERM and the end of its tree."""

CLOSING_S = 1.0
"""Seconds that what claude had started has to end after it: its MCP servers, say."""

MOST_LEFT = 20
"""Processes that an ending names."""

_LOOK_S = 0.05


async def left_behind(claude: RunningClaude, enclosure: Enclosure) -> tuple[ProcessInfo, ...]:
    """What a claude that has exited left running, and does not end by itself."""
    if claude.exit is None:
        return ()
    found: tuple[ProcessInfo, ...] = ()
    with anyio.move_on_after(CLOSING_S):
        while True:
            try:
                alive = as_known(enclosure.processes())
            except OSError:  # the end itself says that it cannot look
                return ()
            found = tuple(process for pid, process in alive.items() if pid != claude.pid)
            if not found:
                return ()
            await anyio.sleep(_LOOK_S)
    return found[:MOST_LEFT]


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
