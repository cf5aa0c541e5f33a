"""How long a turn goes on after its result: until the background work that it started has ended.

Claude gives a result, keeps its process, and opens the turn again by itself when a task has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import anyio

from hive_subagent.claude.conversation import Phase
from hive_subagent.claude.outcome import is_answer
from hive_subagent.claude.process import RunningClaude
from hive_subagent.claude.stream import Event


class BackgroundWait:
    """The end of one turn; `released` says that nothing more of it is waited for."""

    def __init__(
        self,
        claude: RunningClaude,
        *,
        wait_s: float,
        grace_s: float,
        is_to_stop: Callable[[], bool],
    ) -> None:
        """`wait_s` counts from the first result of the turn.

        `grace_s` is the time for claude to open the turn again once a task has ended.
        """
        self.released = False
        self._claude = claude
        self._wait_s = wait_s
        self._grace_s = grace_s
        self._is_to_stop = is_to_stop
        self._since: float | None = None

    @property
    def answered(self) -> bool:
        """Whether claude has given a result for the last message, whatever it says."""
        # asked anew each time: a redirect puts another message in the place of the first
        return self._result is not None

    @property
    def holds(self) -> bool:
        """Whether the turn has an answer, and yet is not over."""
        result, phase = self._result, self._claude.conversation.phase
        answers = result is not None and is_answer(result)
        return answers and not self.released and phase is not Phase.SETTLED

    @property
    def idles(self) -> bool:
        """Whether claude does nothing itself meanwhile."""
        return self.holds and self._claude.conversation.phase is not Phase.BUSY

    @property
    def broken_off(self) -> bool:
        """Whether claude ended while the turn was not over, whatever its exit code says.

        The end of its output is enough: that can be seen before the exit.
        """
        return self.holds and self._claude.over

    async def settled(self) -> None:
        """Wait until the turn is over, its time is up, or nothing more will come."""
        claude, conversation = self._claude, self._claude.conversation
        while not claude.over:
            phase = conversation.phase
            if phase is not Phase.BUSY and (not self.holds or self._is_to_stop()):
                break
            with anyio.move_on_after(self._left(phase)) as limit:
                await claude.until(partial(self._moved, phase))
            if limit.cancelled_caught:
                break
        else:
            return
        self.released = True

    async def exited(self) -> None:
        """Wait for claude's exit once its input is closed, as long as it has something to do."""
        claude, conversation = self._claude, self._claude.conversation
        while claude.exit is None:
            phase = conversation.phase
            works = self.answered and not claude.over
            left = self._left(phase) if works and phase is not Phase.SETTLED else self._grace_s
            with anyio.move_on_after(left) as limit:
                await claude.until_exit(unless=partial(self._left_phase, phase))
            if limit.cancelled_caught:
                return

    @property
    def _result(self) -> Event | None:
        message = self._claude.conversation.message
        return message.result if message is not None else None

    def _left_phase(self, phase: Phase) -> bool:
        return self._claude.conversation.phase is not phase

    def _moved(self, phase: Phase) -> bool:
        return self._left_phase(phase) or (phase is not Phase.BUSY and self._is_to_stop())

    def _left(self, phase: Phase) -> float | None:
        """Seconds that a phase may last from now on; None without a limit of its own."""
        if phase is Phase.BUSY:
            return None
        if self._since is None:
            self._since = time.monotonic()
        if phase is Phase.BACKGROUND:
            return self._since + self._wait_s - time.monotonic()
        return self._grace_s
