"""What the call that began a run hears of it."""

from __future__ import annotations

import asyncio

from hive_subagent.errors import Refused, SubagentError
from hive_subagent.models import StartReply
from hive_subagent.runs import wording


class Answer:
    """That the run lives, or why not.

    A refusal is told only when nothing of the run is left, so that the same call may come again.
    """

    def __init__(self) -> None:
        self._told: asyncio.Future[StartReply] = asyncio.get_running_loop().create_future()
        # nobody may be left to hear of the error
        self._told.add_done_callback(lambda told: told.cancelled() or told.exception())
        self._refusal: Refused | None = None

    async def heard(self) -> StartReply:
        """The reply. Raises Refused."""
        return await asyncio.shield(self._told)

    def give(self, reply: StartReply) -> None:
        """The run lives."""
        self._told.set_result(reply)

    def refuse(self, error: SubagentError) -> None:
        """The run is not to be; the first reason counts."""
        if self._refusal is None:
            self._refusal = error if isinstance(error, Refused) else Refused(str(error))

    def close(self) -> None:
        """The run is over; tell why, unless it was told to live."""
        if not self._told.done():
            self._told.set_exception(self._refusal or Refused(wording.BROKEN))
