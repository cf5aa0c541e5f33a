"""The lines of the stream, key for key as each version prints them."""

from __future__ import annotations

import os

from hive_subagent_stub import catalogue
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.ids import timestamp, uuid4

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.turn import Turn


def init(stub: Stub, *, permission_mode: str, message_uuid: str | None) -> Json:
    """`system/init`, one per turn."""
    version, session = stub.version, stub.session
    old = version.old
    line: Json = {
        "type": "system",
        "subtype": "init",
        "cwd": session.cwd,
        "session_id": session.id,
        "tools": stub.permissions.visible(stub.mcp_tools()),
        "mcp_servers": stub.mcp_statuses(),
        "model": stub.model,
        "permissionMode": permission_mode,
        "slash_commands": catalogue.OLD_SLASH_COMMANDS if old else catalogue.SLASH_COMMANDS,
    }
    if not old:
        line["terminal_slash_commands"] = catalogue.TERMINAL_SLASH_COMMANDS
    line |= {
        "apiKeySource": "ANTHROPIC_API_KEY" if os.environ.get("ANTHROPIC_API_KEY") else "none",
        "claude_code_version": version.name,
        "output_style": "default",
        "agents": catalogue.AGENTS,
        "skills": catalogue.OLD_SKILLS if old else catalogue.SKILLS,
        "plugins": [] if old else catalogue.PLUGINS,
    }
    if not old:
        line["capabilities"] = catalogue.CAPABILITIES
    line |= {"analytics_disabled": True, "product_feedback_disabled": True}
    if not old:
        line["served_by_anthropic"] = False
    line["uuid"] = uuid4()
    if not old:
        line["sandbox_enabled"] = False
    line["memory_paths"] = {"auto": os.path.join(os.path.dirname(session.path), "memory/")}
    if not old:
        names = ("XDG_RUNTIME_DIR", "CLAUDE_CODE_TMPDIR", "TMPDIR")
        sockets = next((value for name in names if (value := os.environ.get(name))), "/tmp")
        line |= {
            "original_cwd": session.cwd,
            "additional_directories": list(stub.options.add_dir),
            "messaging_socket_path": f"{sockets}/cc-socks/{os.getpid()}.sock",
        }
    line["fast_mode_state"] = "off"
    if not old:
        line |= {
            "fast_mode_disabled_reason": "sdk_opt_in_required",
            "per_turn_effort_active": True,
            "ultrathink_available": False,
            "ultrathink_typed_raises": False,
            "view_mode": "default",
        }
        if message_uuid:
            line["user_message_uuids"] = [message_uuid]
    return line


def assistant(stub: Stub, turn: Turn, block: Json) -> Json:
    """One content block of the model."""
    line: Json = {
        "type": "assistant",
        "message": {
            "id": turn.message_id,
            "type": "message",
            "role": "assistant",
            "model": stub.model.split("[", maxsplit=1)[0],
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 100,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 1,
                "service_tier": "standard",
            },
            "context_management": None,
        },
        "parent_tool_use_id": None,
        "session_id": stub.session.id,
        "uuid": uuid4(),
    }
    if not stub.version.old:
        line["timestamp"] = timestamp()
    line["request_id"] = turn.request_id
    if not stub.version.old and turn.message_uuids:
        line["user_message_uuid"] = turn.message_uuids[-1]
        line["user_message_uuids"] = [turn.message_uuids[-1]]
    return line


def synthetic(stub: Stub, text: str, error: str) -> Json:
    """The assistant line that the CLI makes up for an API error."""
    line: Json = {
        "type": "assistant",
        "message": {
            "id": uuid4(),
            "container": None,
            "model": "<synthetic>",
            "role": "assistant",
            "stop_details": None,
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "type": "message",
            "usage": usage(stub, 0),
            "content": [{"type": "text", "text": text}],
            "context_management": None,
        },
        "parent_tool_use_id": None,
        "session_id": stub.session.id,
        "uuid": uuid4(),
        "error": error,
        "request_id": stub.request_id(),
    }
    return line


def user(stub: Stub, content: object, **further: object) -> Json:
    """A user line: a tool's result, an interruption, a hook's feedback."""
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "session_id": stub.session.id,
        "uuid": uuid4(),
        "timestamp": timestamp(),
        **further,
    }


def replay(stub: Stub, content: object, *, uuid: str | None, at: str) -> Json:
    """A stdin message echoed when it is consumed."""
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "session_id": stub.session.id,
        "parent_tool_use_id": None,
        "uuid": uuid or uuid4(),
        "timestamp": at,
        "isReplay": True,
    }


def system(stub: Stub, subtype: str, **further: object) -> Json:
    """Any other `system` line."""
    ids = {"uuid": uuid4(), "session_id": stub.session.id}
    return {"type": "system", "subtype": subtype, **further, **ids}


def usage(stub: Stub, requests: int) -> Json:
    """`usage` of a turn with so many requests: 100 tokens in and 20 out each, as measured."""
    value: Json = {
        "input_tokens": 100 * requests,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 20 * requests,
    }
    if not stub.version.old:
        value["output_tokens_details"] = {"thinking_tokens": 0}
    value |= {
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    }
    if not stub.version.old:
        value["fallback_credit"] = None
    return value


def model_usage(stub: Stub, requests: int) -> Json:
    """`modelUsage`: empty when nothing was asked of the API."""
    if not requests:
        return {}
    value: Json = {
        "inputTokens": 100 * requests,
        "outputTokens": 20 * requests,
        "cacheReadInputTokens": 0,
        "cacheCreationInputTokens": 0,
        "webSearchRequests": 0,
        "costUSD": stub.version.usd_per_request * requests,
        "contextWindow": 1000000,
        "maxOutputTokens": 64000 if stub.version.old else 128000,
    }
    if not stub.version.old:
        value |= {
            "thinkingTokens": 0,
            "cacheCreationEphemeral5mInputTokens": 0,
            "cacheCreationEphemeral1hInputTokens": 0,
            "canonicalModel": stub.model.split("[", maxsplit=1)[0],
            "provider": "firstParty",
            "costBasis": "list",
        }
    return {stub.model: value}


def miss(stub: Stub, text: str, session_id: str) -> Json:
    """The only line of a resume that finds nothing, or too much."""
    line: Json = {
        "type": "result",
        "subtype": "error_during_execution",
        "duration_ms": 0,
        "duration_api_ms": 0,
        "is_error": True,
        "num_turns": 0,
        "stop_reason": None,
        "session_id": session_id,
        "total_cost_usd": 0,
        "usage": usage(stub, 0),
        "modelUsage": {},
        "permission_denials": [],
        "uuid": uuid4(),
        "errors": [text],
    }
    if not stub.version.old:
        line["result_index"] = 0
    return line
