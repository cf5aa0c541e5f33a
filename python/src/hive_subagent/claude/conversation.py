"""What one claude process has said so far, read out of its lines."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from hive_subagent.claude import bounds
from hive_subagent.claude.answers import Spoken
from hive_subagent.claude.background import Background
from hive_subagent.claude.failures import resets_at
from hive_subagent.claude.mcp_status import McpServers
from hive_subagent.claude.open_tools import OpenTools
from hive_subagent.claude.outcome import (
    asked_nothing,
    final_text,
    is_answer,
    tells_of_task,
    was_aborted,
)
from hive_subagent.claude.retries import number, retry_of
from hive_subagent.claude.stop_hooks import StopHooks
from hive_subagent.claude.stream import Batch, Event, Stream
from hive_subagent.models.session import ApiRetry, OpenTool


class Phase(Enum):
    """Where the turn stands: claude works, tasks of it are open, their end is yet to be told."""

    BUSY = auto()
    BACKGROUND = auto()
    OWED = auto()
    SETTLED = auto()


@dataclass
class Message:
    """A message or an answer of ours, and what has become of it.

    `cuts` says that what claude did before was interrupted for it, `lost` that claude will not read
    it any more. `result` is the last result of the turn that it began or went into: where a
    background task goes on, claude opens that turn again by itself.
    """

    uuid: str
    cuts: bool = False
    consumed: bool = False
    lost: bool = False
    result: Event | None = None


@dataclass
class Conversation:
    """Feed it batches of lines; it keeps what a run has to know.

    Liveness counts lines, not meanings: any line moves `last_line_at` (monotonic seconds).
    `on_change` is called after each line that may matter to somebody who waits, `on_request` for
    each control request of claude's. `stream` has all that came in one go, once it was taken in
    here. `message` is the one sent
    last: it is the one that a result can answer. `stopping` says that the turn is being ended for
    good: what is said of that is no answer. `closed` says that no more of our messages come: what
    claude does from there on by itself adds answers, and changes nothing of how the turn ended.
    `resets_at` is when the account's limit ends (seconds since 1970), where it was told last; `mcp`
    are the MCP servers of the last turn, None before claude has said it.
    """

    on_change: Callable[[], None] = lambda: None
    on_request: Callable[[str, Event], None] = lambda request_id, request: None
    stream: Stream = field(default_factory=Stream)
    message: Message | None = None
    stopping: bool = False
    closed: bool = False
    clock: Callable[[], float] = time.monotonic
    session_id: str | None = None
    directory: str | None = None
    begun: bool = False
    lines: int = 0
    last_result: Event | None = None
    cost_total: float | None = None
    cost_is_of_the_session: bool = False
    resets_at: float | None = None
    mcp: McpServers | None = None
    last_line_at: float = field(init=False)
    background: Background = field(init=False)
    spoken: Spoken = field(default_factory=Spoken)
    stop_hooks: StopHooks = field(default_factory=StopHooks)
    _working: bool = False
    _continues: bool = False
    _retry: tuple[Event, float] | None = None
    _unread: dict[str, Message] = field(default_factory=dict)
    _replays: bool = False
    _answers: dict[str, Message] = field(default_factory=dict)
    _echoes: bool = False
    _open_tools: OpenTools = field(default_factory=OpenTools)

    def __post_init__(self) -> None:
        self.last_line_at = self.clock()
        self.background = Background(self.clock)

    def sent(self, message: Message) -> Message:
        """Note that a message goes in; the result that answers it will stand in it."""
        self.message = self._unread[message.uuid] = message
        return message

    def answered(self, request_id: str, message: Message) -> Message:
        """Note that a request of claude's is answered with something that is to arrive."""
        self._answers[request_id] = message
        return message

    def take(self, batch: Batch) -> None:
        """Take in what came in one go, then hand it to those who follow. Raises Excess."""
        self.alive()
        lines = batch.lines
        self.lines += len(lines)
        for line in lines:
            if len(line) > bounds.LARGE:  # followers read lines that are not parsed here
                bounds.check_values(line)
        # whatever the agent says next shows that it has read what it was answered
        everything = not self.begun or bool(self._answers)
        if batch.has_result:
            # it is answered by what was said before it
            for index, alone in enumerate(batch.each()):
                self.spoken.keep(alone.spoken)
                if everything or alone.telling:
                    self._event(batch.event(index))
        else:
            self.spoken.keep(batch.spoken)
            for index in range(len(lines)) if everything else batch.telling:
                self._event(batch.event(index))
        if b'"api_retry"' not in lines[-1]:
            self._retry = None
        self.stream.publish(batch)

    def alive(self) -> None:
        """Something moved, whatever it was."""
        self.last_line_at = self.clock()

    @property
    def unread(self) -> list[Message]:
        """The messages and answers that claude has not said to have consumed."""
        return [*self._unread.values(), *self._answers.values()]

    @property
    def phase(self) -> Phase:
        """Where the turn of our last message stands."""
        if self.message is None or self.message.result is None or self._working:
            return Phase.BUSY
        if self.background.open:
            return Phase.BACKGROUND
        return Phase.OWED if self.background.owed or self.background.cut else Phase.SETTLED

    @property
    def last_text(self) -> str:
        """The last text that the main agent said since its last answer; empty where none."""
        return self.spoken.last_text

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
        return retry_of(event, age_s=self.clock() - since)

    def _event(self, event: Event | None) -> None:
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
        self.on_change()

    def _system(self, event: Event) -> None:
        # a named session that is resumed says its title first, since about 2.1.330
        if isinstance(session_id := event.get("session_id"), str):
            self.session_id = session_id
        if event.get("subtype") == "api_retry":
            self._retry = event, self.clock()
        if event.get("subtype") == "init":
            self.mcp = McpServers.of(event)
            self._working = True
            if isinstance(directory := event.get("cwd"), str):
                self.directory = directory
        tool = self._open_tools.name_of(event.get("tool_use_id"))
        self.background.system(event, tool, working=self._working)
        self.stop_hooks.system(event)

    def _result(self, event: Event) -> None:
        if event.get("parent_tool_use_id") is not None:
            return
        self._go_on()
        self._working = False
        self._open_tools.clear()
        self.background.result(event)
        self.stop_hooks.result(final_text(event))
        if asked_nothing(event) and tells_of_task(event):
            # another turn tells of that task: of two that end at once, or before our first message
            # where a session is resumed whose task was cut (measured with 2.1.332)
            return
        self.last_result = event
        if (cost := number(event.get("total_cost_usd"))) is not None:
            self.cost_total = cost
        # since about 2.1.330 the total goes on over a resume; this field came with that
        self.cost_is_of_the_session = "model_usage_since_last_result" in event
        message = self.message
        if message is not None and message.result is None:
            if self._is_answer(message, event):
                message.result = event
        elif message is not None and self._continues and not self.closed:
            message.result = event
        self._continues = bool(self.background.open or self.background.owed)
        # nothing that comes after a failure answers the turn
        decided = message.result if message is not None else None
        if is_answer(event) and not self.stopping and (decided is None or is_answer(decided)):
            self.spoken.answer(final_text(event))

    def _is_answer(self, message: Message, event: Event) -> bool:
        if not message.consumed and was_aborted(event):
            # a turn that was cut for this message says nothing about it
            return self.stopping or not message.cuts
        if tells_of_task(event):
            # a turn of its own, unless it has read our message on its way
            return message.consumed
        # a prompt that a hook blocks is never said to be consumed; any other is, where this claude
        # tells of that at all
        return message.consumed or not self._replays or asked_nothing(event)

    def _control_request(self, event: Event) -> None:
        request, request_id = event.get("request"), event.get("request_id")
        if isinstance(request, dict) and isinstance(request_id, str):
            asked = request.get("input")
            if isinstance(asked, dict) and asked.get("hook_event_name") == "Stop":
                self.background.stop_hook(asked)
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
        message = event.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        self.background.tool_result(event.get("tool_use_result"))
        if event.get("isReplay") is True:
            self._replays = True
            self.background.told(content)
            # several that waited are joined, and still each is replayed under its own uuid
            if (read := self._unread.pop(str(event.get("uuid")), None)) is not None:
                read.consumed = True
            return
        if event.get("parent_tool_use_id") is not None:
            return
        self._go_on()
        if event.get("type") == "user":
            self.stop_hooks.user(event, content)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict):
                self._open_tools.block(part, self.clock())
