"""What one claude process has said so far, read out of its lines."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hive_subagent.claude import protocol
from hive_subagent.claude.failures import resets_at
from hive_subagent.claude.mcp_status import McpServers
from hive_subagent.claude.open_tools import OpenTools
from hive_subagent.claude.outcome import Completed, decide, was_aborted
from hive_subagent.models import ApiRetry, OpenTool
from hive_subagent.visible import on_one_line

Event = Mapping[str, Any]

WORD_LIMIT = 200
"""Characters of a name or an error that are passed on."""


@dataclass
class Message:
    """A message or an answer of ours, and what has become of it.

    `cuts` says that what claude did before was interrupted for it, `lost` that claude will not read
    it any more.
    """

    uuid: str
    cuts: bool = False
    consumed: bool = False
    lost: bool = False
    result: Event | None = None


@dataclass
class Conversation:
    """Feed it blocks of lines; it keeps what a run has to know.

    Liveness counts lines, not meanings: any line moves `last_line_at` (monotonic seconds).
    `on_change` is called after each line that may matter to somebody who waits, `on_request` for
    each control request of claude's, `hear` with all that came in one go. `message` is the one sent
    last: it is the one that a result can answer. `stopping` says that the turn is being ended for
    good. `resets_at` is when the account's limit ends (seconds since 1970), where it was told last;
    `mcp` are the MCP servers of the last turn, None before claude has said it.
    """

    on_change: Callable[[], None] = lambda: None
    on_request: Callable[[str, Event], None] = lambda request_id, request: None
    hear: Callable[[*tuple[Event, ...]], None] | None = None
    message: Message | None = None
    stopping: bool = False
    clock: Callable[[], float] = time.monotonic
    session_id: str | None = None
    directory: str | None = None
    begun: bool = False
    lines: int = 0
    later_result: Event | None = None
    last_result: Event | None = None
    cost_total: float | None = None
    cost_is_of_the_session: bool = False
    resets_at: float | None = None
    mcp: McpServers | None = None
    last_line_at: float = field(init=False)
    _retry: tuple[Event, float] | None = None
    _heard: list[Event] = field(default_factory=list)
    _unread: dict[str, Message] = field(default_factory=dict)
    _replays: bool = False
    _answers: dict[str, Message] = field(default_factory=dict)
    _echoes: bool = False
    _open_tools: OpenTools = field(default_factory=OpenTools)

    def __post_init__(self) -> None:
        self.last_line_at = self.clock()

    def sent(self, uuid: str, *, cuts: bool = False) -> Message:
        """Note that a message went in; the result that answers it will stand in the return."""
        self.message = self._unread[uuid] = Message(uuid, cuts=cuts)
        self.later_result = None
        return self.message

    def answered(self, request_id: str, *, uuid: str) -> Message:
        """Note that a request of claude's was answered with something that is to arrive.

        `uuid` is what its transcript will know it by.
        """
        self._answers[request_id] = Message(uuid)
        return self._answers[request_id]

    def block(self, block: bytes) -> None:
        """Take in whole lines, each with its line end."""
        self.alive()
        lines = block.split(b"\n")
        lines.pop()
        self.lines += len(lines)
        everything = not self.begun or self.hear is not None
        for line in lines if everything else protocol.telling_lines(block, lines):
            self._line(line)
        if b'"api_retry"' not in lines[-1]:
            self._retry = None
        if self.hear is not None:
            heard, self._heard = self._heard, []
            self.hear(*heard)

    def alive(self) -> None:
        """Something moved, whatever it was."""
        self.last_line_at = self.clock()

    @property
    def unread(self) -> list[Message]:
        """The messages and answers that claude has not said to have consumed."""
        return [*self._unread.values(), *self._answers.values()]

    @property
    def open_tool(self) -> OpenTool | None:
        """The tool call of the main agent that has waited longest for its result."""
        return self._open_tools.longest(self.clock())

    @property
    def api_retry(self) -> ApiRetry | None:
        """What claude waits for, where the last it said is that the API refused it."""
        if self._retry is None:
            return None
        event, since = self._retry
        delay, status = _number(event.get("retry_delay_ms")), event.get("error_status")
        left = 0.0 if delay is None else delay / 1000 - (self.clock() - since)
        return ApiRetry(
            attempt=_whole(event.get("attempt")),
            max_retries=_whole(event.get("max_retries")),
            next_try_s=round(max(0.0, left), 3),
            status=status if isinstance(status, int) else None,
            error=on_one_line(str(event.get("error") or "unknown"))[:WORD_LIMIT],
        )

    def _line(self, line: bytes) -> None:
        event = protocol.parse(line) if line else None
        if event is None:
            return
        # whatever else is said means that the API has answered, or is not asked again
        self._retry = None
        kind = event.get("type")
        if kind in ("system", "assistant") and not self.begun:
            self.begun = True
        if kind == "system":
            self._system(event)
        elif kind == "result":
            self._result(event)
        elif kind == "rate_limit_event":
            self.resets_at = resets_at(event)
        elif kind == "control_request":
            self._control_request(event)
        elif kind in ("control_response", "control_cancel_request"):
            self._receipt(event)
        elif kind in ("assistant", "user"):
            self._turn(event)
        if self.hear is not None:
            self._heard.append(event)
        self.on_change()

    def _system(self, event: Event) -> None:
        # a named session that is resumed says its title first, since about 2.1.330
        if isinstance(session_id := event.get("session_id"), str):
            self.session_id = session_id
        if event.get("subtype") == "api_retry":
            self._retry = event, self.clock()
        if event.get("subtype") == "init":
            self.mcp = McpServers.of(event)
            if isinstance(directory := event.get("cwd"), str):
                self.directory = directory

    def _result(self, event: Event) -> None:
        if event.get("parent_tool_use_id") is not None:
            return
        self._go_on()
        self._open_tools.clear()
        self.last_result = event
        if (cost := _number(event.get("total_cost_usd"))) is not None:
            self.cost_total = cost
        # since about 2.1.330 the total goes on over a resume; this field came with that
        self.cost_is_of_the_session = "model_usage_since_last_result" in event
        message = self.message
        if message is None:
            return
        if message.result is None:
            if self._is_answer(message, event):
                message.result = event
        elif isinstance(decide(event, None), Completed):
            self.later_result = event

    def _is_answer(self, message: Message, event: Event) -> bool:
        if not message.consumed and was_aborted(event):
            # a turn that was cut for this message says nothing about it
            return self.stopping or not message.cuts
        # the end of a background task can produce a result that answers nothing of ours;
        # ours was consumed first, where this claude tells of that at all
        return message.consumed or not self._replays

    def _control_request(self, event: Event) -> None:
        request, request_id = event.get("request"), event.get("request_id")
        if isinstance(request, dict) and isinstance(request_id, str):
            self.on_request(request_id, request)

    def _receipt(self, event: Event) -> None:
        # with --replay-user-messages claude also echoes our answers when it reads them; one that
        # an interrupt overtook is cancelled instead, and dropped (measured: 2.1.197, 2.1.332)
        response = event.get("response")
        about = response if isinstance(response, dict) else event
        if (answer := self._answers.pop(str(about.get("request_id")), None)) is not None:
            self._echoes = self._echoes or about is response
            answer.consumed, answer.lost = about is response, about is event

    def _go_on(self) -> None:
        """The agent works on: where answers are not echoed, it has read them by now."""
        if not self._echoes:
            for answer in self._answers.values():
                answer.consumed = True
            self._answers.clear()

    def _turn(self, event: Event) -> None:
        if event.get("isReplay") is True:
            self._replays = True
            # several that waited are joined, and still each is replayed under its own uuid
            if (read := self._unread.pop(str(event.get("uuid")), None)) is not None:
                read.consumed = True
            return
        if event.get("parent_tool_use_id") is not None:
            return
        self._go_on()
        message = event.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict):
                self._open_tools.block(part, self.clock())


def _number(value: object) -> float | None:
    """A number that can be counted with; JSON allows others, such as 1e999."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
