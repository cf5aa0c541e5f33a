"""The clocks of one MCP call: heartbeats, silence, MCP_TOOL_TIMEOUT."""

from __future__ import annotations

import os
import time

from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.ids import uuid4

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.tools import Call

_SILENCE_S = 300.0  # measured: a call without answer or progress is given up then
_HEARTBEAT_S = 30.0


class TimedOut(Exception):
    """The answer did not come in time."""


class Watch:
    """Given to the transport of a call: `event` for progress, `tick` at every wake-up."""

    def __init__(self, stub: Stub, call: Call) -> None:
        self._stub = stub
        self._call = call
        self._limit_s = float(os.environ.get("MCP_TOOL_TIMEOUT") or 1e8) / 1000
        self._started = self._heard = time.monotonic()
        self._beats = 0

    def event(self, message: Json) -> None:
        """Progress keeps the call from being given up for silence, not for its whole length."""
        if message.get("method") == "notifications/progress":
            self._heard = time.monotonic()

    def tick(self) -> float:
        """Print a heartbeat when it is due; raises TimedOut; gives the next time of interest."""
        now = time.monotonic()
        if now - self._started >= self._limit_s:
            raise TimedOut(f"timed out after {self._limit_s:g}s")
        if now - self._heard >= _SILENCE_S:
            raise TimedOut(f"sent no response or progress for {_SILENCE_S:g}s; aborting.")
        beat = self._started + _HEARTBEAT_S * (self._beats + 1)
        if now >= beat and not self._stub.version.old:
            self._beat()
            beat += _HEARTBEAT_S
        return min(beat, self._started + self._limit_s, self._heard + _SILENCE_S)

    def _beat(self) -> None:
        self._beats += 1
        self._stub.out.emit(
            {
                "type": "tool_progress",
                "tool_use_id": f"{self._call.id}-heartbeat-{self._beats - 1}",
                "tool_name": self._call.name,
                "parent_tool_use_id": self._call.id,
                "elapsed_time_seconds": int(_HEARTBEAT_S * self._beats),
                "heartbeat": True,
                "session_id": self._stub.session.id,
                "uuid": uuid4(),
            }
        )
