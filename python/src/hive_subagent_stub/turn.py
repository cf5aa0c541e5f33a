"""One turn: init, the steps of the script, the hooks around them, one result line."""

from __future__ import annotations

import signal
import time

from hive_subagent_stub import script, shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.endings import Aborted, EndTurn, Exit
from hive_subagent_stub.ids import token
from hive_subagent_stub.results import result

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json, Step
    from hive_subagent_stub.inbox import Message
    from hive_subagent_stub.stub import Stub

_STOP_BLOCKS = 8  # measured: the ninth block in a row is not obeyed


class Ending:
    """What the result line will say."""

    def __init__(self) -> None:
        self.subtype = "success"
        self.is_error = False
        self.terminal_reason: str | None = "completed"
        self.stop_reason: str | None = "end_turn"
        self.text = ""
        self.api_status: int | None = None
        self.errors: list[str] = []
        self.overrides: Json = {}
        self.without: list[str] = []

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
        uuid = message.uuid if message and not stub.version.old else None
        self.message_uuids = [uuid] if uuid else []
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
        self.closing = False
        self.stop_blocks = 0
        self.ending = Ending()

    def say(self, block: Json) -> None:
        """Print one content block of the model; opens an API request if none is open."""
        stub = self.stub
        if not self.speaking:
            self.speaking = True
            self.requests += 1
            stub.requests += 1
            self.message_id = token("msg_")
            self.request_id = stub.request_id()
        if self.first_token_ms is None:
            self.first_token_ms = int((time.monotonic() - self.started) * 1000)
        line = shapes.assistant(stub, self, block)
        stub.out.emit(line)
        stub.session.record("assistant", line["message"])
        if block["type"] == "text":
            self.ending.text = block["text"]

    def hear(self, content: object, **further: object) -> None:
        """Print one user line and count it."""
        line = shapes.user(self.stub, content, **further)
        self.num_turns += 1
        self.stub.out.emit(line)
        self.stub.session.record("user", line["message"])

    def step_over(self) -> None:
        """The border between two requests: limits, and messages that came meanwhile."""
        stub = self.stub
        self.speaking = False
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
        while (message := stub.inbox.take("next")) is not None:
            self._deliver(message)

    def _deliver(self, message: Message) -> None:
        stub = self.stub
        self.seen.append(message.text)
        self.taken.append(message)
        stub.session.record("user", {"role": "user", "content": message.content})
        if stub.options.replay:
            echo = shapes.replay(stub, message.content, uuid=message.uuid, at=message.at)
            stub.out.emit(echo)
        stub.inbox.lifecycle(message, "started")
        if message.uuid and not stub.version.old:
            self.message_uuids.append(message.uuid)
        # the newest message is the one the model follows
        if (found := script.find(message.text, "the message")) is not None:
            self.steps = list(found.turn(0))


def run(stub: Stub, message: Message | None, origin: Json | None = None) -> None:
    """Run one turn to its result line.

    `message` is None for a turn that a background task opened. Raises Exit where the process ends
    within it.
    """
    turn = stub.turn = Turn(stub, message, origin)
    if message is not None:
        stub.inbox.lifecycle(message, "started")
    chosen = script.choose(turn.prompt, stub.brief) if message else script.choose("", stub.brief)
    if chosen is None:
        turn.steps = [{"text": f"ok: {turn.prompt[:200]}"}] if message else [{"text": "done"}]
    else:
        grace = chosen.value.get("background_grace")
        stub.background_grace_s = 5.0 if grace is None else float(grace)
        turn.steps = list(chosen.turn(stub.turns) if message else chosen.after_background)
    if message is not None:
        stub.turns += 1
    cut: Aborted | None = None
    try:
        if chosen is not None and chosen.before_init and stub.turns == 1 and message:
            _before_init(stub, turn, chosen.before_init)
        _open(stub, turn)
        _play(stub, turn)
    except EndTurn:
        pass
    except Aborted as aborted:
        cut = aborted
        _abort(stub, turn, aborted)
    turn.closing = True
    _close(stub, turn, cut)
    if cut is not None and cut.by == "sigint":
        raise Exit(stub.version.rc_after_sigint_in_tool)


def _before_init(stub: Stub, turn: Turn, steps: list[Step]) -> None:
    from hive_subagent_stub.steps import perform

    if not stub.version.handles_signals_before_init:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
    for step in steps:
        perform(stub, turn, step)
    turn.speaking = False
    stub.listen()


def _open(stub: Stub, turn: Turn) -> None:
    session, message = stub.session, turn.message
    if stub.version.announces_title and session.title and not stub.results:
        line = shapes.system(stub, "session_title_changed", title=session.title)
        stub.out.emit(line)
    stub.hooks.session_start()
    uuid = message.uuid if message else None
    mode = stub.permissions.mode
    stub.out.emit(shapes.init(stub, permission_mode=mode, message_uuid=uuid))
    session.begin(stub.brief)
    if message is not None:
        session.record("user", {"role": "user", "content": message.content})
        if stub.options.replay:
            stub.out.emit(shapes.replay(stub, message.content, uuid=uuid, at=message.at))


def _play(stub: Stub, turn: Turn) -> None:
    from hive_subagent_stub.steps import perform

    if turn.message is not None and _slash_command(turn):
        return
    while True:
        while turn.steps:
            step = turn.steps.pop(0)
            if "end" in step:
                if _may_stop(stub, turn):
                    return
                continue
            perform(stub, turn, step)
            stub.wait(time.monotonic())
        if _may_stop(stub, turn):
            return
        if not turn.steps:
            turn.say({"type": "text", "text": f"ok: {turn.seen[-1][:200]}"})


def _slash_command(turn: Turn) -> bool:
    """Measured: a prompt that begins with `/word` never reaches the model, and succeeds."""
    if not turn.prompt.startswith("/"):
        return False
    from hive_subagent_stub import catalogue

    name = turn.prompt[1:].split(None, 1)[0] if turn.prompt[1:].strip() else ""
    if not name or "/" in name or not name.replace("-", "").replace("_", "").isalnum():
        return False
    if name not in catalogue.SLASH_COMMANDS + catalogue.OLD_SLASH_COMMANDS:
        turn.ending.text = f"Unknown command: /{name}"
    turn.num_turns = 0
    return True


def _may_stop(stub: Stub, turn: Turn) -> bool:
    if turn.stop_blocks >= _STOP_BLOCKS:
        turn.ending.text = ""
        return True
    reason = stub.hooks.stop(turn, again=turn.stop_blocks > 0)
    if reason is None:
        return True
    turn.stop_blocks += 1
    turn.speaking = False
    turn.seen.append(reason)
    feedback = f"Stop hook feedback:\n{reason}"
    turn.hear([{"type": "text", "text": feedback}], isSynthetic=True)
    text = "Stop hook error occurred" if stub.version.old else "stop hook problem"
    text += " · ctrl+o to see"
    stub.out.emit(
        shapes.system(stub, "notification", key="stop-hook-error", text=text, priority="immediate")
    )
    return False


def _abort(stub: Stub, turn: Turn, aborted: Aborted) -> None:
    ending = turn.ending
    in_tool = aborted.in_tool
    reason = "aborted_tools" if in_tool else "aborted_streaming"
    ending.stop_reason = "tool_use" if in_tool else None
    if aborted.by == "now":
        ending.text, ending.terminal_reason = "", reason
        return
    text = (
        "[Request interrupted by user for tool use]" if in_tool else "[Request interrupted by user]"
    )
    turn.hear([{"type": "text", "text": text}])
    stop = ending.stop_reason or "null"
    ending.fail(
        "error_during_execution",
        reason,
        f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop}",
    )


def _close(stub: Stub, turn: Turn, cut: Aborted | None) -> None:
    for message in turn.taken:
        stub.inbox.lifecycle(message, "completed")
    line = result(stub, turn, turn.ending)
    stub.out.emit(line)
    stub.results += 1
    stub.last_failed = bool(line.get("is_error"))
    stub.last_text = str(line.get("result", ""))
    stub.last_result = line
    stub.session.record_cost(stub.total_cost_usd)
    stub.turn = None
    if turn.message is not None:
        state = "completed" if cut is None else "cancelled"
        stub.inbox.lifecycle(turn.message, state)
