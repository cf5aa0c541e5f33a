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


class Inbox:
    """Queued messages, and the answers to our own control requests."""

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self.queue: list[Message] = []
        self.answers: dict[str, Json] = {}
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
            response = value.get("response") or {}
            self.answers[str(response.get("request_id"))] = response

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

    def take(self, *priorities: str) -> Message | None:
        """The first queued message of these priorities, or of any."""
        for index, message in enumerate(self.queue):
            if not priorities or message.priority in priorities:
                return self.queue.pop(index)
        return None

    def next_turn(self) -> Message | None:
        """The message that opens the next turn: `now` before the others, `later` last."""
        for priority in ("now", "next", "later"):
            if (message := self.take(priority)) is not None:
                return message
        return self.take()


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [block.get("text") for block in content if isinstance(block, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""
