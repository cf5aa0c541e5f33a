"""Hooks: callbacks over the control channel, and commands from --settings."""

from __future__ import annotations

import time

from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.endings import Aborted, Exit
from hive_subagent_stub.ids import uuid4
from hive_subagent_stub.permissions import Denial

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hive_subagent_stub._types import Json
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.tools import Call
    from hive_subagent_stub.turn import Turn

_DEFAULT_TIMEOUT_S = 600.0


class Hooks:
    """The registered hooks of this process and what their answers do."""

    def __init__(self, stub: Stub, settings: Json) -> None:
        self._stub = stub
        self._callbacks: dict[str, list[Json]] = {}
        configured = settings.get("hooks")
        self._configured: Json = {}
        if isinstance(configured, dict) and not stub.options.bare:
            self._configured = configured
        self._prompt_id = uuid4()
        self._tool_use_id = ""  # of the event that is being told
        self._stopped = False  # PreToolUse said continue:false: the tool runs, then the turn ends

    def register(self, hooks: Json) -> None:
        """Take the hooks of an `initialize` request."""
        for event, matchers in hooks.items():
            if isinstance(matchers, list):
                self._callbacks[event] = [m for m in matchers if isinstance(m, dict)]

    def prompt(self, turn: Turn) -> tuple[str, str] | None:
        """UserPromptSubmit: how a hook keeps the prompt from the model, and its reason."""
        self._prompt_id = uuid4()
        name = "UserPromptSubmit"
        for answer, _ in self._run(name, {"prompt": turn.prompt}, tool_use_id=uuid4()):
            if answer.get("continue") is False:
                return "stopped_by_hook", str(answer.get("stopReason") or "")
            if answer.get("decision") == "block":
                return "blocked_by_hook", str(answer.get("reason") or "")
            self._context(name, "", answer, turn)
        return None

    def session_end(self) -> None:
        """SessionEnd: on a normal end, SIGINT and SIGTERM; commands only, stdin is gone."""
        if "SessionEnd" in self._configured:
            self._callbacks.clear()
            for _ in self._run("SessionEnd", {"reason": "other"}, tool_use_id=uuid4()):
                pass

    def before_tool(self, turn: Turn, call: Call) -> Json:
        """PreToolUse: the input to run with; Denial where a hook denies."""
        given = call.given
        event = {"tool_name": call.name, "tool_input": given, "tool_use_id": call.id}
        for answer, label in self._run("PreToolUse", event, matched=call.name, tool_use_id=call.id):
            specific = answer.get("hookSpecificOutput") or {}
            decision = specific.get("permissionDecision")
            if decision == "deny" or answer.get("decision") == "block":
                reason = specific.get("permissionDecisionReason") or answer.get("reason") or ""
                raise Denial(str(reason), "permission-rule")
            if isinstance(specific.get("updatedInput"), dict):
                given = specific["updatedInput"]
            if answer.get("continue") is False:
                self._stopped = True
            self._context("PreToolUse", call.name, answer, turn, label)
        return given

    def after_tool(self, turn: Turn, call: Call, response: object) -> bool:
        """PostToolUse, after success only; True when it stops the turn."""
        event = {
            "tool_name": call.name,
            "tool_input": call.given,
            "tool_response": response,
            "tool_use_id": call.id,
            "duration_ms": int((time.monotonic() - call.started) * 1000),
        }
        stopped, self._stopped = self._stopped, False
        for answer, label in self._run(
            "PostToolUse", event, matched=call.name, tool_use_id=call.id
        ):
            self._context("PostToolUse", call.name, answer, turn, label)
            if answer.get("continue") is False:
                stopped = True
        return stopped

    def after_failure(self, turn: Turn, call: Call, error: object) -> None:
        """PostToolUseFailure: context and block reach the model, continue:false is ignored."""
        event = {
            "tool_name": call.name,
            "tool_input": call.given,
            "tool_use_id": call.id,
            "error": error,
            "is_interrupt": False,
        }
        self._stopped = False
        name = "PostToolUseFailure"
        for answer, label in self._run(name, event, matched=call.name, tool_use_id=call.id):
            self._context(name, call.name, answer, turn, label)

    def batch(self, turn: Turn, calls: list[Call]) -> bool:
        """PostToolBatch, once per model step; continue:false and block both stop the turn."""
        event = {
            "tool_calls": [
                {
                    "tool_name": call.name,
                    "tool_input": call.given,
                    "tool_use_id": call.id,
                    "tool_response": call.answer,
                }
                for call in calls
            ]
        }
        stopped = False
        for answer, _ in self._run("PostToolBatch", event, tool_use_id=f"hook-{uuid4()}"):
            self._context("PostToolBatch", "", answer, turn)
            if answer.get("continue") is False or answer.get("decision") == "block":
                stopped = True
        return stopped

    def stop(self, turn: Turn, *, again: bool) -> str | None:
        """Stop: the reason to go on, or None when the turn may end."""
        event = {
            "stop_hook_active": again,
            "last_assistant_message": turn.ending.text,
            "background_tasks": self._stub.background_tasks(),
            "session_crons": [],
        }
        reason = None
        for answer, _ in self._run("Stop", event, tool_use_id=uuid4()):
            if answer.get("continue") is False:
                # the answer stays, unlike after a step (measured: 2.1.197, 2.1.332)
                turn.ending.terminal_reason = "stop_hook_prevented"
                return None
            specific = answer.get("hookSpecificOutput") or {}
            if answer.get("decision") == "block":
                reason = str(answer.get("reason") or "")
            elif specific.get("additionalContext"):
                reason = str(specific["additionalContext"])
        return reason

    def can_use_tool(self, call: Call) -> None:
        """Ask the supervisor for permission; Denial unless it is given."""
        request: Json = {
            "subtype": "can_use_tool",
            "tool_name": call.name,
            "display_name": call.name,
            "input": call.given,
            "description": call.given.get("description", ""),
            "permission_suggestions": [],
            "tool_use_id": call.id,
        }
        answer = self.request(request, None)
        if answer is None:
            raise Denial("Tool permission request failed: stdin closed", "permission-rule")
        if answer.get("behavior") != "allow":
            if answer.get("interrupt"):
                raise Aborted("interrupt")
            raise Denial(str(answer.get("message") or ""), "permission-rule")
        if isinstance(answer.get("updatedInput"), dict):
            call.given = answer["updatedInput"]
        call.source = {"decision": "accept", "source": "user_temporary"}

    def _context(
        self, event: str, tool: str, answer: Json, turn: Turn, label: str | None = None
    ) -> None:
        """What the model is told. A block names the hook's whole command line, as measured."""
        specific = answer.get("hookSpecificOutput") or {}
        name = f"{event}:{tool}" if tool else event
        if text := specific.get("additionalContext"):
            turn.seen.append(f"{name} hook additional context: {text}")
            about = {"content": [text], "hookName": name, "toolUseID": self._tool_use_id}
            self._stub.session.attach("hook_additional_context", **about, hookEvent=event)
        if label is not None and answer.get("decision") == "block":
            reason = answer.get("reason") or ""
            turn.seen.append(f'{name} hook blocking error from command: "{label}": {reason}')

    def _run(
        self, name: str, event: Json, *, tool_use_id: str, matched: str = ""
    ) -> Iterator[tuple[Json, str]]:
        """The answers of every hook of this event that matches the tool, each with its label."""
        self._tool_use_id = tool_use_id
        for matcher in self._callbacks.get(name, []):
            if not _matches(matcher.get("matcher"), matched):
                continue
            for callback in matcher.get("hookCallbackIds") or []:
                request: Json = {
                    "subtype": "hook_callback",
                    "callback_id": callback,
                    "input": self._input(name, event),
                    "tool_use_id": tool_use_id,
                }
                timeout = float(matcher.get("timeout") or _DEFAULT_TIMEOUT_S)
                answer = self.request(request, timeout)
                if isinstance(answer, dict):
                    yield answer, "callback"
        # measured: malformed hooks are ignored silently
        for matcher in self._configured.get(name) or []:
            if isinstance(matcher, dict) and _matches(matcher.get("matcher"), matched):
                yield from self._run_configured(matcher, self._input(name, event), matched)

    def _run_configured(
        self, matcher: Json, event: Json, matched: str
    ) -> Iterator[tuple[Json, str]]:
        from hive_subagent_stub import hook_commands

        for hook in matcher.get("hooks") or []:
            if isinstance(hook, dict):
                answer = hook_commands.answer(self._stub, hook, event, matched=matched)
                if answer is not None:
                    yield answer, str(hook.get("command") or hook.get("url"))

    def _deaf(self) -> bool:
        return self._stub.options.input_format != "stream-json" or self._stub.loop.eof

    def _input(self, name: str, event: Json) -> Json:
        stub = self._stub
        return {
            "session_id": stub.session.id,
            "transcript_path": stub.session.path,
            "cwd": stub.session.cwd,
            "prompt_id": self._prompt_id,
            "permission_mode": stub.permissions.mode,
            "effort": {"level": stub.options.effort or "medium"},
            "hook_event_name": name,
            **event,
            **self._agent(),
        }

    def _agent(self) -> Json:
        """Within a subagent an event says whose it is."""
        turn = self._stub.turn
        if turn is None or not turn.inner:
            return {}
        call, kind = turn.inner["parent_tool_use_id"], turn.inner["subagent_type"]
        return {"agent_id": f"a{call[-16:]}", "agent_type": kind}

    def request(self, request: Json, timeout_s: float | None) -> Json | None:
        """Ask over the control channel; None on a timeout, an error or a closed stdin."""
        stub = self._stub
        if self._deaf():
            return None
        request_id = uuid4()
        stub.inbox.awaited.add(request_id)
        stub.out.emit({"type": "control_request", "request_id": request_id, "request": request})
        until = None if timeout_s is None else time.monotonic() + timeout_s
        answers = stub.inbox.answers
        while request_id not in answers:
            if self._deaf() or (until is not None and time.monotonic() >= until):
                return None
            soon = time.monotonic() + 1.0
            try:
                stub.step(soon if until is None else min(soon, until))
            except Aborted as aborted:
                if request["subtype"] == "hook_callback":
                    self._cancel(request_id, aborted)
                raise
        response = answers.pop(request_id)
        if response.get("subtype") != "success":
            return None
        body = response.get("response")
        return body if isinstance(body, dict) else {}

    def _cancel(self, request_id: str, aborted: Aborted) -> None:
        """Measured: an answer that comes after this is dropped; 2.1.197 dies of it."""
        stub = self._stub
        stub.inbox.awaited.discard(request_id)
        stub.out.emit({"type": "control_cancel_request", "request_id": request_id})
        if stub.version.old and aborted.by == "interrupt":
            from hive_subagent_stub.results import result
            from hive_subagent_stub.turn import Ending, Turn

            ending = Ending()
            ending.fail("error_during_execution", None, "")
            stub.out.emit(result(stub, Turn(stub, None), ending))
            raise Exit(1)


def _matches(pattern: object, tool: str) -> bool:
    """No matcher or `*`: every tool; else names joined by `|`, or a regular expression."""
    if not pattern or pattern == "*" or not tool:
        return True
    if tool in str(pattern).split("|"):
        return True
    import re

    try:
        return re.fullmatch(str(pattern), tool) is not None
    except re.error:
        return False
