"""Interrupting is a ladder: ask, SIGINT, SIGTERM, then the whole tree.

An immediate SIGKILL leaves lock files and half-written work behind, so each rung gives time.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable

import anyio

from hive_subagent.claude.conversation import Phase
from hive_subagent.claude.process import RunningClaude


class Ladder:
    """Climbs once; may be hurried while it climbs."""

    def __init__(
        self,
        claude: RunningClaude,
        end_tree: Callable[[], Awaitable[None]],
        *,
        step_s: float,
        force: bool = False,
    ) -> None:
        self._claude = claude
        self._end_tree = end_tree
        self._step_s = step_s
        self._force = force
        self._rung = anyio.CancelScope()
        self.over = anyio.Event()

    def hurry(self, *, step_s: float, force: bool = False) -> None:
        """Shorten the steps still to come, the present one included; `force` skips them."""
        self._step_s = min(self._step_s, step_s)
        self._force = self._force or force
        deadline = anyio.current_time() + (0 if self._force else self._step_s)
        self._rung.deadline = min(self._rung.deadline, deadline)

    async def climb(self) -> None:
        """Return once the process has exited or its whole tree has been ended."""
        try:
            await self._climb()
        finally:
            self.over.set()

    async def _climb(self) -> None:
        rungs: tuple[Callable[[], None], ...] = (
            self._claude.ask_to_stop,
            lambda: self._claude.signal(signal.SIGINT),
            lambda: self._claude.signal(signal.SIGTERM),
        )
        # a claude that only waits for background tasks has no turn to end: it says so, ends its
        # agents and goes on (measured with 2.1.197 and 2.1.332)
        idle = self._claude.conversation.phase in (Phase.BACKGROUND, Phase.OWED)
        for act in rungs[1:] if idle else rungs:
            if self._force:
                break
            act()
            with anyio.move_on_after(self._step_s) as self._rung:
                await self._claude.exited()
                return
        await self._end_tree()
