"""What the Messages API does wrong, as the CLI tells it."""

from __future__ import annotations

import os
import time

from hive_subagent_stub import shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.endings import EndTurn
from hive_subagent_stub.ids import uuid4

if TYPE_CHECKING:
    from hive_subagent_stub._types import Step
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.turn import Turn

# status: (`error` of the assistant line, `error` of api_retry)
_NAMES = {
    400: ("invalid_request", "invalid_request"),
    401: ("authentication_failed", "authentication_failed"),
    402: ("billing_error", "billing_error"),
    403: ("authentication_failed", "authentication_failed"),
    404: ("model_not_found", "model_not_found"),
    413: ("invalid_request", "invalid_request"),
    429: ("rate_limit", "rate_limit"),
    529: ("server_error", "overloaded"),
}
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_REFUSAL = (
    "API Error: Claude Code is unable to respond to this request, which appears to violate our"
    " Usage Policy (https://www.anthropic.com/legal/aup). Try rephrasing the request."
)
# text, `error` of the assistant line, `api_error` of 2.1.332's result
_WITHOUT_STATUS = {
    "login": ("Not logged in · Please run /login", "authentication_failed", ""),
    "refusal": (_REFUSAL, "invalid_request", ""),
}
# measured, in milliseconds before the chance part
_DELAYS = [500, 1000, 2000, 4000, 8000, 16000, 32000]


def perform(stub: Stub, turn: Turn, key: str, step: Step) -> None:
    """`api_error`, `api_retry` or `result`."""
    if key == "api_retry":
        _retry(stub, step)
    elif key == "api_error":
        _error(stub, turn, step)
    else:
        turn.ending.overrides = dict(step["result"])
        turn.ending.without = [str(name) for name in step.get("without", [])]
        raise EndTurn


def _retry(stub: Stub, step: Step) -> None:
    status = step.get("status", 529)
    most = int(os.environ.get("CLAUDE_CODE_MAX_RETRIES") or 10)
    for attempt in range(1, int(step["api_retry"]) + 1):
        stub.out.emit(
            shapes.system(
                stub,
                "api_retry",
                attempt=attempt,
                max_retries=most,
                retry_delay_ms=float(_DELAYS[min(attempt, len(_DELAYS)) - 1]),
                error_status=status,
                error=_NAMES.get(status or 0, ("", "server_error" if status else "unknown"))[1],
            )
        )
        stub.wait(time.monotonic() + float(step.get("interval", 0)))


def _error(stub: Stub, turn: Turn, step: Step) -> None:
    if step["api_error"] in _WITHOUT_STATUS:
        status, (text, error, code) = None, _WITHOUT_STATUS[step["api_error"]]
    else:
        status, code = step["api_error"] or None, None
        text = _text(stub, status, step.get("message"))
        error = _NAMES.get(status or 0, ("server_error", ""))[0]
    if "resets_at" in step:
        text, code = _limit(stub, int(step["resets_at"])), "usage_limit_reached"
    turn.tell_echo()
    line = shapes.synthetic(stub, text, error)
    ending = turn.ending
    ending.is_error, ending.api_status, ending.text = True, status, text
    ending.stop_reason = "stop_sequence"
    ending.api_type = _TYPES.get(status, "api_error") if status else None
    ending.api_error = "connection_failed" if status is None and code is None else code or None
    ending.terminal_reason = stub.version.api_error_reason
    if step["api_error"] == "refusal":
        line["message"]["stop_reason"] = ending.stop_reason = "refusal"
    if text.startswith("Prompt is too long"):
        ending.terminal_reason = "prompt_too_long"
    stub.out.emit(line)
    stub.session.record("assistant", line["message"])
    turn.first_token_ms = None
    raise EndTurn


def _limit(stub: Stub, at: int) -> str:
    """The limit of a subscription: the line that tells when it ends, and the words for it."""
    info = {
        "status": "rejected",
        "resetsAt": at,
        "rateLimitType": "five_hour",
        "isUsingOverage": False,
    }
    ids = {"uuid": uuid4(), "session_id": stub.session.id}
    stub.out.emit({"type": "rate_limit_event", "rate_limit_info": info, **ids})
    which = "session" if stub.version.old else "5-hour"
    clock = time.strftime("%I:%M%p", time.gmtime(at)).lstrip("0").lower()
    return f"You've hit your {which} limit · resets {clock} (UTC)"


def _text(stub: Stub, status: int | None, message: str | None) -> str:
    model = stub.model.split("[", maxsplit=1)[0]
    if status == 401:
        if stub.version.old:
            return "Invalid API key · Fix external API key"
        return f"Failed to authenticate. API Error: 401 {message or 'invalid x-api-key'}"
    if status == 404:
        return (
            f"There's an issue with the selected model ({model}). It may not exist or you may not "
            "have access to it. Run --model to pick a different model."
        )
    if status == 429:
        return f"API Error: Request rejected (429) · {message or 'rate limited'}"
    if status == 400:
        return message or "Prompt is too long"
    if status == 402:
        return message or "Credit balance is too low"
    if status is None:
        return message or "API Error: Unable to connect to API (ConnectionRefused)"
    if status >= 500:
        host = os.environ.get("ANTHROPIC_BASE_URL", "").split("://")[-1].split("/")[0]
        asked = f"check your inference gateway ({host})" if host else "check status.claude.com"
        return (
            f"API Error: {status} {message or 'Overloaded'}. This is a server-side issue, usually "
            f"temporary — try again in a moment. If it persists, {asked}."
        )
    return f"API Error: {status} {message or 'Request refused'}"
