"""Hooks over the control channel: how a word reaches the main agent between two of its steps.

No process is started for them and the model sees no address or argv (measured with 2.1.197 and
2.1.332). PostToolBatch comes once per step, after failed tools too; Stop covers a turn without
tools. Both also fire inside claude's own subagents, which are let pass.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hive_subagent.claude import protocol
from hive_subagent.claude.conversation import Message
from hive_subagent.claude.stream import Follower

TEXT_LIMIT = 10_000
"""UTF-16 units of what a hook may hand over; of more the model sees 2 KB and a file's name."""

_CALLBACK = "step"
_TIMEOUT_S = 30


def _new_message() -> Message:
    return Message(str(uuid.uuid4()))


@dataclass(frozen=True)
class Say:
    """Hand the model this text with the step, silently; at most `TEXT_LIMIT`.

    Here as below, `message` shows what becomes of it.
    """

    text: str
    message: Message = field(default_factory=_new_message, compare=False)


@dataclass(frozen=True)
class Prompt:
    """Give the model this as a message of its own, of any length.

    After a step it stands beside the tools' results in the very next request. When the agent would
    end its turn it opens another one: a Stop hook that blocks would do so with words that deny it
    any authority, twice in a row (2.1.332), and eight times at most.
    """

    text: str
    message: Message = field(default_factory=_new_message, compare=False)


@dataclass(frozen=True)
class Halt:
    """End the turn here."""

    reason: str
    message: Message = field(default_factory=_new_message, compare=False)


Steer = Say | Prompt | Halt


class Steps(Protocol):
    """Asked between two steps. Every method answers at once, without waiting.

    What it returns is sent. `known_as` is the `uuid` of the message of a `Say` or a `Halt`: the
    transcript knows the answer to this hook by it.
    """

    def at_step(self, known_as: str) -> Steer | None:
        """After a step, its tools done."""

    def at_end(self, known_as: str) -> Prompt | Halt | None:
        """When the agent would end its turn."""


class Steering(Steps, Protocol):
    """The same, and what else follows the run."""

    @property
    def followers(self) -> Sequence[Follower]:
        """What is to follow the run's stream, each by itself."""


def subscribe(request_id: str) -> bytes:
    """The request that asks claude to call us back; sent before the first message."""
    matcher = {"matcher": None, "hookCallbackIds": [_CALLBACK], "timeout": _TIMEOUT_S}
    hooks = {"PostToolBatch": [matcher], "Stop": [matcher]}
    return protocol.control_request(request_id, "initialize", hooks=hooks)


def ask(request: Mapping[str, Any], steering: Steps) -> Steer | None:
    """What is to be done at a control request of claude's."""
    given = request.get("input")
    event = given if isinstance(given, dict) else {}
    if request.get("subtype") != "hook_callback" or event.get("agent_id") is not None:
        return None
    match event.get("hook_event_name"):
        case "PostToolBatch":
            return steering.at_step(_in_transcript(request))
        case "Stop":
            return steering.at_end(_in_transcript(request))
        case _:
            return None


def reply(request_id: str, request: Mapping[str, Any], steer: Steer | None) -> bytes:
    """Our answer to that request."""
    if request.get("subtype") != "hook_callback":
        return protocol.control_error(request_id, f"not served: {request.get('subtype')}")
    match steer:
        case Say(text):
            context = {"hookEventName": "PostToolBatch", "additionalContext": text}
            answer: Mapping[str, Any] = {"hookSpecificOutput": context}
        case Halt(reason):
            answer = {"continue": False, "stopReason": reason}
        case _:
            answer = {}
    return protocol.control_success(request_id, answer)


def _in_transcript(request: Mapping[str, Any]) -> str:
    """By what the transcript knows the answer to a hook; empty where it will not."""
    return str(request.get("tool_use_id") or "")


def fits(text: str) -> bool:
    """Whether a hook may hand over this text."""
    return len(text.encode("utf-16-le", "surrogatepass")) <= 2 * TEXT_LIMIT
