"""Why a turn failed, from what claude says of it. Pure.

The result line alone is enough; its fields are alike in 2.1.197 and 2.1.332, while the texts
differ. Only where a field is missing (nobody is logged in, startup errors) do the words decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hive_subagent.models.session import FailureCause

_BY_SUBTYPE = {"error_max_structured_output_retries": FailureCause.SCHEMA}
_BY_TERMINAL_REASON = {
    "prompt_too_long": FailureCause.CONTEXT,
    # another program's hook, not ours: that is a stop
    "hook_stopped": FailureCause.BLOCKED,
    "stop_hook_prevented": FailureCause.BLOCKED,
}
_BY_STATUS = {
    401: FailureCause.AUTH,
    403: FailureCause.AUTH,
    404: FailureCause.MODEL,
    413: FailureCause.CONTEXT,
    429: FailureCause.RATE_LIMIT,
}
# claude's own words: they decide before the status, which is 400 for several of them
_BY_WORDS = (
    (re.compile(r"Prompt is too long|Request too large"), FailureCause.CONTEXT),
    (
        re.compile(
            r"Not logged in|Please run /login|Invalid API key|Failed to authenticate"
            r"|Your \S+ belongs to a disabled organization"
        ),
        FailureCause.AUTH,
    ),
    (re.compile(r"There's an issue with the selected model"), FailureCause.MODEL),
    (re.compile(r"You've hit your .{1,40} limit"), FailureCause.RATE_LIMIT),
    (re.compile(r"Invalid MCP configuration|MCP config file not found"), FailureCause.MCP),
)


def cause_of(result: Mapping[str, Any] | None, words: str) -> FailureCause:
    """The cause of a failure.

    `result` is the result line that is no answer, None where there is none; `words` is what claude
    said, on that line or on stderr.
    """
    if result is not None and (told := _by_fields(result)) is not None:
        return told
    for pattern, cause in _BY_WORDS:
        if pattern.match(words) or (result is None and pattern.search(words)):
            return cause
    status = None if result is None else result.get("api_error_status")
    if not isinstance(status, int):
        return FailureCause.OTHER
    # all others of 500 and above are the API's own trouble, and usually pass
    return _BY_STATUS.get(status, FailureCause.OVERLOADED if status >= 500 else FailureCause.OTHER)


def _by_fields(result: Mapping[str, Any]) -> FailureCause | None:
    if result.get("stop_reason") == "refusal":
        return FailureCause.REFUSAL
    subtype, reason = result.get("subtype"), result.get("terminal_reason")
    by_subtype = _BY_SUBTYPE.get(subtype) if isinstance(subtype, str) else None
    return by_subtype or (_BY_TERMINAL_REASON.get(reason) if isinstance(reason, str) else None)


def resets_at(event: Mapping[str, Any]) -> float | None:
    """When the limit of a `rate_limit_event` ends, in seconds since 1970; None where it holds none.

    Claude prints such a line for subscriptions, before the result that fails at the limit.
    """
    info = event.get("rate_limit_info")
    if not isinstance(info, dict) or info.get("status") != "rejected":
        return None
    told = info.get("resetsAt")
    return told if isinstance(told, int | float) and told is not True else None
