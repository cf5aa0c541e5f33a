"""The control channel: requests of the supervisor, answered at once even within a turn."""

from __future__ import annotations

import os

from hive_subagent_stub import catalogue, shapes
from hive_subagent_stub._types import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.stub import Stub


def request(stub: Stub, value: Json) -> None:
    """Answer one `control_request` line."""
    body = value.get("request") or {}
    name = str(body.get("subtype"))
    request_id = value.get("request_id")
    if name == "interrupt" and stub.ignores_interrupt:
        return
    handler = _HANDLERS.get(name)
    if handler is None:
        failure: Json = {
            "subtype": "error",
            "request_id": request_id,
            "error": f"Unsupported control request subtype: {name}",
        }
        if not stub.version.old:
            failure["error_code"] = "unsupported_request"
        stub.out.emit({"type": "control_response", "response": failure})
        return
    answer = handler(stub, body)
    response: Json = {"subtype": "success", "request_id": request_id}
    if answer is not None:
        response["response"] = answer
    stub.out.emit({"type": "control_response", "response": response})
    if name == "set_permission_mode":
        mode = stub.permissions.mode
        stub.out.emit(shapes.system(stub, "status", status=None, permissionMode=mode))


def _interrupt(stub: Stub, _body: Json) -> Json | None:
    # a message that has not begun is cut as soon as it does, or is not (measured: 0 of 6)
    early = stub.inbox.queue and not (stub.version.loses_early_interrupt and stub.results)
    if stub.turn is not None or early:
        stub.inbox.interrupted = True
    elif stub.tasks is not None:
        stub.tasks.kill_agents()
    if stub.version.old:
        return None
    return {"still_queued": [message.uuid for message in stub.inbox.queue if message.uuid]}


def _initialize(stub: Stub, body: Json) -> Json:
    stub.hooks.register(body.get("hooks") or {})
    old = stub.version.old
    commands = catalogue.OLD_SLASH_COMMANDS if old else catalogue.SLASH_COMMANDS
    answer: Json = {
        "commands": [{"name": name, "description": "", "argumentHint": ""} for name in commands],
        "agents": [{"name": name, "description": ""} for name in catalogue.AGENTS],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": [{"value": "default", "resolvedModel": stub.model, "displayName": "Default"}],
        "account": {"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY"},
        "pid": os.getpid(),
    }
    if not old:
        answer |= {
            "claude_code_version": stub.version.name,
            "current_permission_mode": stub.permissions.mode,
            "hooks_applied": bool(body.get("hooks")),
            "session_state": "idle" if stub.turn is None else "busy",
        }
    return answer


def _set_model(stub: Stub, body: Json) -> Json | None:
    wanted = str(body.get("model") or "default")
    stub.use_model(wanted)
    told = f"{wanted} ({stub.model})"
    text = f"Set model to {told}" if stub.version.old else f"Set model to `{told}`"
    content = f"<local-command-stdout>{text}</local-command-stdout>"
    line = shapes.user(stub, content)
    stub.out.emit(line | {"isReplay": True})
    return None if stub.version.old else {"model": stub.model}


def _set_permission_mode(stub: Stub, body: Json) -> Json:
    stub.permissions.mode = str(body.get("mode") or "default")
    return {"mode": stub.permissions.mode}


def _mcp_status(stub: Stub, _body: Json) -> Json:
    return {"mcpServers": stub.mcp_statuses()}


def _rename(stub: Stub, body: Json) -> None:
    title = str(body.get("title") or "")
    stub.session.rename(title)
    if stub.version.announces_title:
        stub.out.emit(shapes.system(stub, "session_title_changed", title=title))


def _cost(stub: Stub, _body: Json) -> Json:
    return {"text": f"Total cost:            ${stub.total_cost_usd:.4f}"}


def _context(_stub: Stub, _body: Json) -> Json:
    return {"categories": [], "totalTokens": 100, "maxTokens": 200000, "percentage": 0}


def _settings(stub: Stub, _body: Json) -> Json:
    return {"effective": {}, "sources": [], "applied": {"model": stub.model, "effort": "medium"}}


def _apply(_stub: Stub, _body: Json) -> None:
    return None


def _background(_stub: Stub, _body: Json) -> Json:
    return {}


_HANDLERS = {
    "interrupt": _interrupt,
    "initialize": _initialize,
    "set_model": _set_model,
    "set_permission_mode": _set_permission_mode,
    "mcp_status": _mcp_status,
    "rename_session": _rename,
    "get_session_cost": _cost,
    "get_context_usage": _context,
    "get_settings": _settings,
    "apply_flag_settings": _apply,
    "background_tasks": _background,
}
