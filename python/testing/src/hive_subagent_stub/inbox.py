"""What arrives on stdin in stream-json mode: user messages, control requests and answers."""

from __future__ import annotations

import json

from hive_subagent_stub import control
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.ids import timestamp, uuid4

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.stub import Stub


class Message:
    """One user message: `text` is all of its text, `content` what came."""

    def __init__(self, content: object, *, uuid: str | None = None, priority: str = "next") -> None:
        self.content = content
        self.text = _text_of(content)
        self.uuid = uuid
        self.priority = priority
        self.at = timestamp()
        self.parts = [self]  # the messages that were joined into this one

    @classmethod
    def joined(cls, parts: list[Message]) -> Message:
        """Several messages as one: their texts by lines, the uuid of the last that has one."""
        if len(parts) == 1:
            return parts[0]
        uuid = next((part.uuid for part in reversed(parts) if part.uuid), None)
        whole = cls("\n".join(part.text for part in parts), uuid=uuid, priority=parts[0].priority)
        whole.parts = parts
        return whole


class Inbox:
    """Queued messages, and the answers to our own control requests."""

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self.queue: list[Message] = []
        self.answers: dict[str, Json] = {}
        self.awaited: set[str] = set()  # our requests that have no answer yet
        self.interrupted = False
        self.bad_line: str | None = None

    def line(self, raw: bytes) -> None:
        """Take one line of stdin. A line that is not JSON ends the process, as with the CLI."""
        text = raw.decode("utf-8", "replace").strip()
        if not text or self.bad_line is not None:
            return
        try:
            value = json.loads(text)
        except ValueError as error:
            self.bad_line = f"Error parsing streaming input line: {text[:200]}: {error}"
            return
        if not isinstance(value, dict):
            return
        kind = value.get("type")
        if kind == "user":
            self._message(value)
        elif kind == "control_request":
            control.request(self._stub, value)
        elif kind == "control_response":
            self._answer(value, value.get("response") or {})

    def _answer(self, value: Json, response: Json) -> None:
        """Measured: echoed like a message; one that nobody awaits any more is dropped."""
        request_id = str(response.get("request_id"))
        if request_id in self.awaited:
            self.awaited.discard(request_id)
            self.answers[request_id] = response
            if self._stub.options.replay:
                self._stub.out.emit(value)

    def _message(self, value: Json) -> None:
        content = (value.get("message") or {}).get("content", "")
        uuid = value.get("uuid")
        message = Message(content, uuid=uuid, priority=str(value.get("priority") or "next"))
        self.queue.append(message)
        self.lifecycle(message, "queued")

    def lifecycle(self, message: Message, state: str) -> None:
        """Print where a message with a uuid has got to (2.1.332)."""
        if message.uuid and self._stub.version.lifecycle_lines:
            self._stub.out.emit(
                {
                    "type": "command_lifecycle",
                    "command_uuid": message.uuid,
                    "state": state,
                    "uuid": uuid4(),
                    "session_id": self._stub.session.id,
                }
            )

    def take_all(self, priority: str) -> list[Message]:
        """Every queued message of this priority."""
        taken = [message for message in self.queue if message.priority == priority]
        self.queue = [message for message in self.queue if message.priority != priority]
        return taken

    def next_turn(self, *, waited: bool) -> Message | None:
        """What opens the next turn: `now` before the others, `later` last.

        `waited`: they came during another turn. Measured: those of one priority are joined then; a
        message to an idle process begins its turn before the next one is read.
        """
        priorities = dict.fromkeys(["now", "next", "later", *(m.priority for m in self.queue)])
        for priority in priorities:
            taken = self.take_all(priority)
            if taken:
                count = len(taken) if waited else 1
                self.queue = taken[count:] + self.queue
                return Message.joined(taken[:count])
        return None


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [block.get("text") for block in content if isinstance(block, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""
