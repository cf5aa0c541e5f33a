"""Hooks over the control channel: how a word reaches the main agent between two of its steps.

No process is started for them and the model sees no address or argv (measured with 2.1.197 and
2.1.332). PostToolBatch comes once per step, after failed tools too; Stop covers a turn without
tools. Both also fire inside claude's own subagents, which are let pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from hive_subagent.claude import protocol

STOPPED = frozenset({"hook_stopped", "stop_hook_prevented"})
"""The terminal reasons of a turn that a hook's answer ended; its result is no error."""

_CALLBACK = "step"
_TIMEOUT_S = 30


@dataclass(frozen=True)
class Say:
    """Hand the model this text and let it go on."""

    text: str


@dataclass(frozen=True)
class Halt:
    """End the turn here."""

    reason: str


class Steering(Protocol):
    """Who is asked between two steps. Both methods answer at once, without waiting."""

    def at_step(self) -> Say | Halt | None:
        """After a step, its tools done."""

    def at_end(self) -> Say | Halt | None:
        """When the agent would end its turn; Say makes it go on."""

    def hear(self, event: Mapping[str, Any]) -> None:
        """What claude printed that may be worth telling."""


def subscribe(request_id: str) -> bytes:
    """The request that asks claude to call us back; sent before the first message."""
    matcher = {"matcher": None, "hookCallbackIds": [_CALLBACK], "timeout": _TIMEOUT_S}
    hooks = {"PostToolBatch": [matcher], "Stop": [matcher]}
    return protocol.control_request(request_id, "initialize", hooks=hooks)


def reply(request_id: str, request: Mapping[str, Any], steering: Steering) -> bytes:
    """Our answer to a control request of claude's."""
    if request.get("subtype") != "hook_callback":
        return protocol.control_error(request_id, f"not served: {request.get('subtype')}")
    given = request.get("input")
    event = given if isinstance(given, dict) else {}
    return protocol.control_success(request_id, _answer(event, steering))


def _answer(event: Mapping[str, Any], steering: Steering) -> Mapping[str, Any]:
    if event.get("agent_id") is not None:
        return {}
    match event.get("hook_event_name"):
        case "PostToolBatch":
            steer = steering.at_step()
            if isinstance(steer, Say):
                context = {"hookEventName": "PostToolBatch", "additionalContext": steer.text}
                return {"hookSpecificOutput": context}
        case "Stop":
            steer = steering.at_end()
            if isinstance(steer, Say):
                return {"decision": "block", "reason": steer.text}
        case _:
            return {}
    return {"continue": False, "stopReason": steer.reason} if steer is not None else {}
