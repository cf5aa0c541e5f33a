"""A turn from init to its result line: the steps of the script and the hooks around them."""

from __future__ import annotations

import signal
import time

from hive_subagent_stub import local_commands, script, shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.endings import Aborted, EndTurn, Exit
from hive_subagent_stub.output import line as as_line
from hive_subagent_stub.results import result
from hive_subagent_stub.turn import Turn

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json, Step
    from hive_subagent_stub.inbox import Message
    from hive_subagent_stub.stub import Stub

_STOP_BLOCKS = 9  # measured: after so many in a row the turn is ended
_BLANK = "Blank prompt — the message was only whitespace, so nothing was sent to the model."
_CAP = (
    "A hook blocked the turn from ending 9 consecutive times—overriding and ending turn. For"
    " Stop/SubagentStop hooks, check stop_hook_active in the input and return success while it's"
    " true. Set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP to raise this limit."
)


def run(stub: Stub, message: Message | None, origin: Json | None = None) -> None:
    """Run one turn to its result line.

    `message` is None for a turn that a background task opened. Raises Exit where the process ends
    within it.
    """
    turn = stub.turn = Turn(stub, message, origin)
    if message is not None:
        _take_up(stub, message)
        stub.script = script.choose(turn.prompt, stub.brief)
    chosen = stub.script
    if chosen is None:
        turn.steps = [{"text": f"ok: {turn.prompt[:200]}"}] if message else [{"text": "done"}]
    else:
        grace = chosen.value.get("background_grace")
        stub.background_grace_s = None if grace is None else float(grace)
        turn.steps = list(chosen.turn(stub.turns) if message else chosen.told(stub.told))
        stub.told = 0 if message else stub.told + 1
    if message is not None:
        stub.turns += 1
        if chosen is not None and chosen.version and not stub.turns > 1:
            stub.become(chosen.version)
    cut: Aborted | None = None
    try:
        if chosen is not None and chosen.before_init and stub.turns == 1 and message:
            _before_init(stub, turn, chosen.before_init)
        _open(stub, turn)
        if message is None or not _settled_early(stub, turn):
            _play(stub, turn)
    except EndTurn:
        pass
    except Aborted as aborted:
        cut = aborted
        if not turn.opened:
            _open(stub, turn)
        _abort(stub, turn, aborted)
    turn.closing = True
    _close(stub, turn, cut)
    if cut is not None and cut.by == "sigint":
        if stub.tasks is not None:
            stub.tasks.kill_all()
        raise Exit(stub.version.rc_after_sigint_in_tool)


def tell_of_cut_tasks(stub: Stub) -> None:
    """Measured: resumed after a task was cut, an empty turn tells of that, before any of ours."""
    for task in stub.session.cut_tasks.values():
        known = {"task_id": task["task_id"], "tool_use_id": task["tool_use_id"]}
        text = "Background shell command didn't finish before the previous session ended"
        told = {"status": "stopped", "output_file": "", "summary": text}
        stub.out.emit(shapes.system(stub, "task_notification", **known, **told))
        stub.session.attach("stub_task_ended", task_id=task["task_id"])
    stub.session.cut_tasks.clear()
    turn = stub.turn = Turn(stub, None, {"kind": "task-notification"})
    _open(stub, turn)
    turn.num_turns = 0
    turn.ending.stop_reason, turn.ending.terminal_reason = None, None
    turn.ending.without = ["api_error_status"]
    turn.closing = True
    _close(stub, turn, None)


def _take_up(stub: Stub, message: Message) -> None:
    """Joined messages are echoed one by one, but for the one whose uuid the whole will carry."""
    if stub.options.replay:
        for part in message.parts:
            if part.uuid and part.uuid != message.uuid:
                stub.out.emit(shapes.replay(stub, part.content, uuid=part.uuid, at=part.at))
    for part in message.parts:
        stub.inbox.lifecycle(part, "started")


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
    turn.opened = True
    session, message = stub.session, turn.message
    if message is not None:
        turn.command = local_commands.named(stub, turn.prompt)
        if turn.command is not None:
            local_commands.before_init(stub, turn, turn.command)
    if stub.version.announces_title and session.title and not stub.results:
        line = shapes.system(stub, "session_title_changed", title=session.title)
        stub.out.emit(line)
    uuid = message.uuid if message else None
    mode = stub.permissions.mode
    stub.out.emit(shapes.init(stub, permission_mode=mode, message_uuid=uuid))
    stub.listen()
    session.begin(stub.brief)
    if message is not None:
        session.record("user", {"role": "user", "content": message.content}, uuid)
        if stub.options.replay and turn.command is None:
            turn.echo = shapes.replay(stub, message.content, uuid=uuid, at=message.at)


def _play(stub: Stub, turn: Turn) -> None:
    from hive_subagent_stub.steps import perform

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


def _settled_early(stub: Stub, turn: Turn) -> bool:
    """Whether the prompt ends its turn before the model sees it."""
    if turn.command is not None:
        local_commands.run(stub, turn, turn.command)
        return True
    if not stub.version.old and not turn.prompt.strip("\ufeff \t\r\n"):
        _keep_back(stub, turn, _BLANK)
        return True
    if (kept := stub.hooks.prompt(turn)) is None:
        return False
    kind, reason = kept
    stopped = kind == "stopped_by_hook"
    outcome = {"kind": kind, "prompt_kept": stopped, "reason": reason}
    further: Json = {} if stub.version.old else {"prompt_submit_outcome": outcome}
    if stopped:
        text = f"Operation stopped by hook: {reason}"
    else:
        said = "UserPromptSubmit operation blocked by hook:"
        text = f"{said}\n{reason}\n\nOriginal prompt: {turn.prompt}"
    _keep_back(stub, turn, text, prevent_continuation=True, **further)
    if stopped and not stub.version.old and turn.message is not None:
        message = turn.message
        turn.echo = shapes.replay(stub, message.content, uuid=message.uuid, at=message.at)
    return True


def _keep_back(stub: Stub, turn: Turn, text: str, **further: object) -> None:
    """End the turn with these words; the model has not been asked, nothing is echoed."""
    turn.echo = None
    line = shapes.system(stub, "informational", content=text, level="warning", **further)
    stub.out.emit(line)
    turn.num_turns = 0
    turn.ending.text, turn.ending.stop_reason, turn.ending.terminal_reason = text, None, None
    turn.ending.without = ["api_error_status"]


def _may_stop(stub: Stub, turn: Turn) -> bool:
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
    if turn.stop_blocks < _STOP_BLOCKS:
        return False
    if not stub.version.old:
        line = shapes.system(stub, "informational", content=_CAP, level="warning")
        stub.out.emit(line)
        shown = {"priority": "high", "color": "warning"}
        line = shapes.system(stub, "notification", key="stop-hook-block-cap", text=_CAP, **shown)
        stub.out.emit(line)
    turn.ending.text = ""
    return True


def _abort(stub: Stub, turn: Turn, aborted: Aborted) -> None:
    ending = turn.ending
    in_tool = aborted.in_tool
    reason = "aborted_tools" if in_tool else "aborted_streaming"
    ending.stop_reason = "tool_use" if in_tool else None
    if aborted.by == "now" and in_tool:
        ending.text, ending.terminal_reason = "", reason
        return
    if aborted.by != "now":
        turn.tell_echo()
        whose = " for tool use" if in_tool and not aborted.after_tools else ""
        turn.hear([{"type": "text", "text": f"[Request interrupted by user{whose}]"}])
    stop = ending.stop_reason or "null"
    ending.fail(
        "error_during_execution",
        reason,
        f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop}",
    )


def _close(stub: Stub, turn: Turn, cut: Aborted | None) -> None:
    if cut is None:
        turn.tell_echo()
    for message in turn.taken:
        stub.inbox.lifecycle(message, "completed")
    line = result(stub, turn, turn.ending)
    if not turn.ending.line_end:
        stub.out.write(as_line(line).rstrip(b"\n"))
        raise Exit(0)
    stub.out.emit(line)
    stub.results += 1
    stub.last_failed = bool(line.get("is_error"))
    stub.last_text = str(line.get("result", ""))
    stub.last_result = line
    stub.session.record_cost(stub.total_cost_usd)
    stub.turn = None
    stub.inbox.interrupted = False
    if turn.message is not None:
        state = "cancelled" if cut is not None or stub.last_failed else "completed"
        for part in turn.message.parts:
            stub.inbox.lifecycle(part, state)
