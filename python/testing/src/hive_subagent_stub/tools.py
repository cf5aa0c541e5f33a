"""Tool calls: real shells, real MCP calls and pretended tools, with what surrounds them."""

from __future__ import annotations

import time

from hive_subagent_stub import shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.endings import Aborted, EndTurn
from hive_subagent_stub.ids import task_id, token
from hive_subagent_stub.permissions import Denial, refused_sleep, unasked

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json, Step
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.turn import Turn

_SHOWN_AFTER_S = 3.0  # a Bash that runs so long is announced as a task
_MOST_OUTPUT = 30000
_REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). STOP what you are doing and wait "
    "for the user to tell you how to proceed."
)
_STOPPED = (
    " Correction to the text above: this call was stopped while running, not refused before it "
    "ran. It may have run in part or in full, and its changes may have been written. No permission "
    "prompt was involved. Work it started elsewhere (a remote command, a background process) may "
    "still be running, so check before starting the same work again. The instruction to stop and "
    "wait still stands."
)


class Outcome:
    """What a tool gave: `content` for the model, `detail` for `tool_use_result`."""

    def __init__(self, content: object, detail: object, *, is_error: bool | None = False) -> None:
        self.content = content
        self.detail = detail
        self.is_error = is_error  # None: the key is left out, as for MCP


class Call:
    """One tool_use block."""

    def __init__(self, name: str, given: Json, step: Step) -> None:
        self.id = token("toolu_")
        self.name = name
        self.given = given
        self.step = step
        self.started = time.monotonic()
        self.source: Json = {"decision": "accept", "source": "config", "reason_type": "mode"}
        self.answer: object = None  # what PostToolBatch is shown


def perform(stub: Stub, turn: Turn, key: str, step: Step) -> None:
    """One model step: a single tool, or several at once (`tools`)."""
    parts = step["tools"] if key == "tools" else [step]
    calls = [_call(part) for part in parts]
    for call in calls:
        block: Json = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.given}
        turn.say(block, **_meta(stub, call))
    turn.in_tool = True
    try:
        stopped = False
        for index, call in enumerate(calls):
            try:
                stopped = _one(stub, turn, call) or stopped
            except Aborted as aborted:
                aborted.in_tool = True
                for rest in calls[index:]:
                    _reject(stub, turn, rest, aborted)
                raise
        try:
            stopped = stub.hooks.batch(turn, calls) or stopped
        except Aborted as aborted:
            aborted.in_tool = aborted.after_tools = True
            raise
        if stopped:
            turn.ending.text, turn.ending.stop_reason = "", "tool_use"
            turn.ending.terminal_reason = "hook_stopped"
            raise EndTurn
    finally:
        turn.in_tool = False
        turn.open_to_now = True
    turn.step_over()


def _call(step: Step) -> Call:
    if "bash" in step:
        given: Json = {
            "command": str(step["bash"]),
            "description": str(step.get("description", "x")),
        }
        if step.get("background"):
            given["run_in_background"] = True
        return Call("Bash", given, step)
    if "monitor" in step:
        given = {"command": str(step["monitor"]), "description": str(step.get("description", "x"))}
        return Call("Monitor", given | {"timeout_ms": 60000, "persistent": False}, step)
    if "stop_task" in step:
        return Call("TaskStop", {"task_id": str(step["stop_task"])}, step)
    if "mcp" in step:
        server, _, tool = str(step["mcp"]).partition("/")
        return Call(f"mcp__{server}__{tool}", dict(step.get("args", {})), step)
    return Call(str(step["tool"]), dict(step.get("input", {})), step)


def _meta(stub: Stub, call: Call) -> Json:
    """What the line of an MCP call says besides."""
    server, _, tool = str(call.step.get("mcp", "")).partition("/")
    if not tool or server not in stub.servers:
        return {}
    title = stub.servers[server].title
    shown = {"id": call.id, "display_name": tool.capitalize(), "server_display_name": title}
    if not stub.version.old:
        shown["tool_name"] = tool
    return {"tool_use_meta": [shown]}


def _one(stub: Stub, turn: Turn, call: Call) -> bool:
    """Run one call and print its result; True when a hook stops the turn after this step."""
    turn.open_to_now = False
    call.started = time.monotonic()
    stopped = False
    try:
        call.given = stub.hooks.before_tool(turn, call)
        _ask(stub, call)
        outcome = _run(stub, turn, call)
    except Denial as denial:
        _deny(stub, turn, call, denial)
        call.answer = denial.text
        return False
    call.answer = outcome.content
    if outcome.is_error:
        stub.hooks.after_failure(turn, call, outcome.content)
    else:
        stopped = stub.hooks.after_tool(turn, call, outcome.detail)
    _tell(stub, turn, call, outcome)
    return stopped


def _tell(stub: Stub, turn: Turn, call: Call, outcome: Outcome) -> None:
    if outcome.is_error:
        block: Json = {
            "type": "tool_result",
            "content": outcome.content,
            "is_error": True,
            "tool_use_id": call.id,
        }
    else:
        block = {"tool_use_id": call.id, "type": "tool_result", "content": outcome.content}
        if outcome.is_error is not None:
            block["is_error"] = False
    further: Json = {"tool_use_result": outcome.detail}
    if not stub.version.old:
        further["tool_result_meta"] = [{"id": call.id, "permission_decision": call.source}]
    turn.hear([block], **further)


def _deny(stub: Stub, turn: Turn, call: Call, denial: Denial) -> None:
    if denial.by_mode and not stub.version.old:
        known = {"tool_name": call.name, "tool_use_id": call.id}
        stub.out.emit(shapes.system(stub, "permission_denied", **known, message=denial.text))
    if denial.listed:
        turn.denials.append(
            {"tool_name": call.name, "tool_use_id": call.id, "tool_input": call.given}
        )
    block = {
        "type": "tool_result",
        "content": denial.text,
        "is_error": True,
        "tool_use_id": call.id,
    }
    plain = denial.text.removeprefix("<tool_use_error>Error: ").removesuffix("</tool_use_error>")
    further: Json = {"tool_use_result": f"Error: {plain}"}
    if not stub.version.old and denial.kind:
        decision = {"decision": "reject", "source": "config"}
        further["tool_result_meta"] = [
            {"id": call.id, "non_execution_kind": denial.kind, "permission_decision": decision}
        ]
    turn.hear([block], **further)


def _reject(stub: Stub, turn: Turn, call: Call, aborted: Aborted) -> None:
    if aborted.by == "now":
        text = "The tool call was interrupted before a result was received."
        _tell(stub, turn, call, Outcome(text, f"Error: {text}", is_error=True))
        return
    text = _REJECTED if stub.version.old else _REJECTED + _STOPPED
    block = {"type": "tool_result", "content": text, "is_error": True, "tool_use_id": call.id}
    further: Json = {"tool_use_result": "User rejected tool use"}
    if not stub.version.old:
        further["tool_result_meta"] = [{"id": call.id, "non_execution_kind": "user-rejected"}]
    turn.hear([block], **further)


def _ask(stub: Stub, call: Call) -> None:
    if stub.permissions.check(call.name, call.given):
        return
    if stub.options.permission_tool == "stdio":
        stub.hooks.can_use_tool(call)
        return
    raise unasked(call.name, call.given, stub.session.cwd, old=stub.version.old)


def _run(stub: Stub, turn: Turn, call: Call) -> Outcome:
    if call.name == "Bash" and "bash" in call.step:
        return _bash(stub, call)
    if "monitor" in call.step or "stop_task" in call.step:
        from hive_subagent_stub.background import stop, watch

        return watch(stub, call) if "monitor" in call.step else stop(stub)
    if "mcp" in call.step:
        from hive_subagent_stub.mcp import call_tool

        turn.open_to_now = stub.version.cuts_mcp_for_now
        return call_tool(stub, call)
    step = call.step
    stub.wait(time.monotonic() + float(step.get("seconds", 0)))
    if step.get("gate"):
        from hive_subagent_stub.steps import wait_for

        wait_for(stub, str(step["gate"]))
    text = str(step.get("result", ""))
    failed = bool(step.get("error"))
    return Outcome(text, f"Error: {text}" if failed else text, is_error=failed)


def _bash(stub: Stub, call: Call) -> Outcome:
    from hive_subagent_stub.shell import Shell

    command = str(call.given.get("command", ""))
    if call.given.get("run_in_background"):
        from hive_subagent_stub.background import start

        return start(stub, call, command)
    if stub.version.refuses_long_sleep and (blocked := refused_sleep(command)):
        text = (
            f"Blocked: {blocked}. To wait for a condition, use Monitor with an until-loop (e.g. "
            "`until <check>; do sleep 2; done`). To wait for a command you started, use "
            "run_in_background: true. Do not chain shorter sleeps to work around this block."
        )
        error = f"<tool_use_error>{text}</tool_use_error>"
        return Outcome(error, f"Error: {text}", is_error=True)
    shell = Shell(stub, command)
    stub.tool_pid = shell.pid
    task: Json | None = None
    show_at = time.monotonic() + _SHOWN_AFTER_S
    try:
        while not shell.reap():
            stub.wait(show_at if task is None else None, shell.fds)
            if task is None and time.monotonic() >= show_at:
                task = _announce(stub, call)
    except Aborted:
        stub.kill_tool()
        shell.reap()
        raise
    stub.tool_pid = None
    if task is not None:
        ends = {"status": "completed", "output_file": "", "summary": task["description"]}
        keys = ("task_id", "run_id", "tool_use_id")
        known = {key: task[key] for key in keys if key in task}
        stub.out.emit(shapes.system(stub, "task_notification", **known, **ends))
    output, rc = shell.output, shell.rc
    if rc:
        text = f"Exit code {128 - rc if rc < 0 else rc}" + (f"\n{output}" if output else "")
        return Outcome(text, f"Error: {text}", is_error=True)
    shown = output or "(Bash completed with no output)"
    if len(output) > _MOST_OUTPUT:
        shown = f"<persisted-output>\nOutput too large.\n\nPreview:\n{output[:2048]}\n..."
    detail = {
        "stdout": output[:_MOST_OUTPUT],
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }
    return Outcome(shown, detail)


def _announce(stub: Stub, call: Call) -> Json:
    task: Json = {"task_id": task_id("b")}
    if not stub.version.old:
        task["run_id"] = token("0mx", 7) + "-" + token("", 8)
    task |= {"tool_use_id": call.id, "description": call.given.get("description", "x")}
    if not stub.version.old:
        task["is_backgrounded"] = False
    task["task_type"] = "local_bash"
    stub.out.emit(shapes.system(stub, "task_started", **task))
    return task
