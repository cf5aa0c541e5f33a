"""The state of a running turn: what was said, what was heard, how it will end."""

from __future__ import annotations

import time

from hive_subagent_stub import script, shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.endings import Aborted, EndTurn
from hive_subagent_stub.ids import token

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json, Step
    from hive_subagent_stub.inbox import Message
    from hive_subagent_stub.stub import Stub


class Ending:
    """What the result line will say."""

    def __init__(self) -> None:
        self.subtype = "success"
        self.is_error = False
        self.terminal_reason: str | None = "completed"
        self.stop_reason: str | None = "end_turn"
        self.text = ""
        self.api_status: int | None = None
        self.api_type: str | None = None
        self.api_error: str | None = None
        self.errors: list[str] = []
        self.overrides: Json = {}
        self.without: list[str] = []
        self.line_end = True

    def fail(self, subtype: str, reason: str | None, error: str) -> None:
        """An ending without text: interrupted, or a limit reached."""
        self.subtype, self.is_error, self.terminal_reason = subtype, True, reason
        self.errors = [error]


class Turn:
    """The state of the running turn."""

    def __init__(self, stub: Stub, message: Message | None, origin: Json | None = None) -> None:
        self.stub = stub
        self.message = message
        self.origin = origin
        self.prompt = message.text if message else ""
        self.seen: list[str] = [self.prompt] if message else []  # what the model has been told
        self.message_uuids = [part.uuid for part in message.parts if part.uuid] if message else []
        self.echo: Json | None = None  # of the message, held back until the model answers
        self.command: str | None = None  # a slash command that takes the model's place
        self.taken: list[Message] = []
        self.steps: list[Step] = []
        self.started = time.monotonic()
        self.message_id = self.request_id = ""
        self.speaking = False
        self.requests = 0
        self.num_turns = 1
        self.api_ms = 0
        self.first_token_ms: int | None = None
        self.denials: list[Json] = []
        self.in_tool = False
        self.open_to_now = True
        self.opened = self.closing = False
        self.stop_blocks = 0
        self.inner: Json = {}  # what lines of a subagent say besides
        self.ending = Ending()

    def say(self, block: Json, **further: object) -> None:
        """Print one content block of the model; opens an API request if none is open."""
        stub = self.stub
        self.begin_request()
        line = shapes.assistant(stub, self, block) | further | self.inner
        stub.out.emit(line)
        if self.inner:
            return
        stub.session.record("assistant", line["message"])
        if block["type"] == "text":
            self.ending.text = block["text"]

    def begin_request(self) -> None:
        """Open an API request unless one is open: blocks up to the next tool result share it."""
        self.tell_echo()
        if not self.speaking:
            self.speaking = True
            self.requests += 1
            self.stub.requests += 1
            self.message_id = token("msg_")
            self.request_id = self.stub.request_id()
        if self.first_token_ms is None:
            self.first_token_ms = int((time.monotonic() - self.started) * 1000)

    def tell_echo(self) -> None:
        """Measured: a message is replayed when its answer begins, not when it is read."""
        if self.echo is not None:
            echo, self.echo = self.echo, None
            self.stub.out.emit(echo)

    def hear(self, content: object, **further: object) -> None:
        """Print one user line and count it."""
        line = shapes.user(self.stub, content, **further) | self.inner
        self.stub.out.emit(line)
        if self.inner:
            return
        self.num_turns += 1
        self.stub.session.record("user", line["message"])

    def step_over(self) -> None:
        """The border between two requests: limits, and messages that came meanwhile."""
        stub = self.stub
        self.speaking = False
        if self.inner:
            return
        self.ending.text = ""  # measured: an answer is what the last message says
        if stub.tasks is not None and stub.tasks.ended:
            stub.tasks.tell_within(self)
        if any(m.priority == "now" for m in stub.inbox.queue):
            cut = Aborted("now")
            cut.in_tool = True
            raise cut
        limit = stub.options.max_turns
        if limit and limit != "0" and self.requests >= int(limit):
            text = f"Reached maximum number of turns ({limit})"
            self.ending.fail("error_max_turns", "max_turns", text)
            self.ending.stop_reason = "tool_use"
            raise EndTurn
        budget = stub.options.max_budget
        if budget and stub.requests * stub.version.usd_per_request >= float(budget):
            reason = None if stub.version.old else "budget_exhausted"
            text = f"Reached maximum budget (${budget})"
            self.ending.fail("error_max_budget_usd", reason, text)
            raise EndTurn
        delivered = stub.inbox.take_all("next")
        for message in delivered:
            self._deliver(message)
        for message in delivered:
            stub.inbox.lifecycle(message, "started")

    def _deliver(self, message: Message) -> None:
        stub = self.stub
        self.seen.append(message.text)
        self.taken.append(message)
        stub.session.record("user", {"role": "user", "content": message.content}, message.uuid)
        if stub.options.replay:
            echo = shapes.replay(stub, message.content, uuid=message.uuid, at=message.at)
            stub.out.emit(echo)
        if message.uuid:
            self.message_uuids.append(message.uuid)
        # the newest message is the one the model follows
        if (found := script.find(message.text, "the message")) is not None:
            self.steps = list(found.turn(0))
