"""The `result` line, whose keys and their order differ between the versions."""

from __future__ import annotations

import time

from hive_subagent_stub import shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.ids import uuid4

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.turn import Ending, Turn

_NO_SUBAGENTS = {
    "spawned": 0,
    "requested": {"background": 0, "foreground": 0, "unset": 0},
    "started_in_background": 0,
    "max_depth": 0,
    "spawned_by_subagents": 0,
    "completed": 0,
    "failed": 0,
    "killed": {"parent": 0, "user": 0, "system": 0},
    "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0},
    "by_type": {},
}


def result(stub: Stub, turn: Turn, ending: Ending) -> Json:
    """The line that ends a turn."""
    line = _old(stub, turn, ending) if stub.version.old else _new(stub, turn, ending)
    line |= ending.overrides
    for key in ending.without:
        line.pop(key, None)
    return line


def _milliseconds(turn: Turn) -> int:
    return int((time.monotonic() - turn.started) * 1000)


def _old(stub: Stub, turn: Turn, ending: Ending) -> Json:
    line: Json = {"type": "result", "subtype": ending.subtype}
    failed = ending.subtype != "success"
    if not failed:
        line |= {"is_error": ending.is_error, "api_error_status": ending.api_status}
    line |= {"duration_ms": _milliseconds(turn), "duration_api_ms": turn.api_ms}
    if failed:
        line["is_error"] = ending.is_error
    elif turn.first_token_ms is not None:
        ttft = turn.first_token_ms
        line |= {"ttft_ms": ttft, "ttft_stream_ms": ttft, "time_to_request_ms": min(ttft, 1)}
    line["num_turns"] = turn.num_turns
    if not failed:
        line["result"] = ending.text
    line |= {
        "stop_reason": ending.stop_reason,
        "session_id": stub.session.id,
        "total_cost_usd": stub.total_cost_usd,
        "usage": shapes.usage(stub, turn.requests),
        "modelUsage": shapes.model_usage(stub, stub.requests),
        "permission_denials": turn.denials,
    }
    if ending.terminal_reason is not None:
        line["terminal_reason"] = ending.terminal_reason
    line["fast_mode_state"] = "off"
    if turn.origin:
        line["origin"] = turn.origin
    line["uuid"] = uuid4()
    if failed:
        line["errors"] = ending.errors
    return line


def _new(stub: Stub, turn: Turn, ending: Ending) -> Json:
    failed = ending.subtype != "success"
    line: Json = {
        "duration_api_ms": turn.api_ms,
        "stop_reason": ending.stop_reason,
        "session_id": stub.session.id,
        "total_cost_usd": stub.total_cost_usd,
        "usage": shapes.usage(stub, turn.requests),
        "modelUsage": shapes.model_usage(stub, stub.requests),
        "permission_denials": turn.denials,
    }
    if ending.terminal_reason is not None:
        line["terminal_reason"] = ending.terminal_reason
    line |= {"fast_mode_state": "off", "fast_mode_disabled_reason": "sdk_opt_in_required"}
    if turn.origin:
        line["origin"] = turn.origin
    line |= {
        "subagent_stats": _NO_SUBAGENTS,
        "safety_stops": 0,
        "is_error": ending.is_error,
        "num_turns": turn.num_turns,
        "subtype": ending.subtype,
    }
    timed = not failed and turn.first_token_ms is not None
    if failed:
        line["errors"] = ending.errors
    else:
        line["api_error_status"] = ending.api_status
        if ending.api_type:
            line["api_error_type"] = ending.api_type
        if ending.api_error:
            line["api_error"] = ending.api_error
        line["result"] = ending.text
    if timed:
        line["ttft_ms"] = turn.first_token_ms
    line |= {"type": "result", "duration_ms": _milliseconds(turn), "uuid": uuid4()}
    if timed:
        line |= {
            "ttft_stream_ms": turn.first_token_ms,
            "time_to_request_ms": min(turn.first_token_ms or 0, 1),
            "first_content_frame_ms": turn.first_token_ms,
        }
    if turn.message_uuids:
        own = turn.message.uuid if turn.message else None
        line |= {
            "user_message_uuid": own or turn.message_uuids[0],
            "user_message_uuids": list(turn.message_uuids),
        }
    line |= {
        "queued_turn_count": len(stub.inbox.queue),
        "result_index": stub.results,
        "model_usage_since_last_result": shapes.model_usage(stub, turn.requests),
    }
    return line
