"""Messages of the stream-json control channel, as pure functions.

Everything is written as ASCII JSON: a lone surrogate in a prompt stays an escape and cannot make
the line unencodable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from hive_subagent.claude import bounds


def user_message(text: str, *, uuid: str) -> bytes:
    """One user message; with `--replay-user-messages` claude echoes `uuid` once it consumes it."""
    return line(
        {"type": "user", "message": {"role": "user", "content": text}, "uuid": uuid},
    )


def control_request(request_id: str, subtype: str, **fields: Any) -> bytes:
    """A request of ours, such as `interrupt` or `initialize`."""
    request = {"subtype": subtype, **fields}
    return line({"type": "control_request", "request_id": request_id, "request": request})


def control_success(request_id: str, response: Mapping[str, Any]) -> bytes:
    """Our answer to a request of claude's, such as `hook_callback`."""
    answer = {"subtype": "success", "request_id": request_id, "response": response}
    return line({"type": "control_response", "response": answer})


def control_error(request_id: str, error: str) -> bytes:
    """Our refusal of a request of claude's that we do not serve."""
    answer = {"subtype": "error", "request_id": request_id, "error": error}
    return line({"type": "control_response", "response": answer})


def as_prompt(text: str) -> str:
    """`text` so that claude sends it to the model whatever it begins with.

    A message that begins with "/" is run as a slash command without any model call and reported
    as a success; a blank before it prevents that (measured with 2.1.197 and 2.1.332).
    """
    return "\n" + text if text.startswith("/") else text


def is_result(head: bytes) -> bool:
    """Whether a line that begins so is a result, as 2.1.197 and as 2.1.332 write one."""
    return head.startswith((b'{"type":"result"', b'{"duration_api_ms":'))


def parse(line: bytes) -> dict[str, Any] | None:
    """The event on a line, or None for plain text, half an object and anything else.

    Raises Excess for a line with too many values.
    """
    bounds.check_values(line)
    try:
        # four times as quick as json, the more so the longer the line is
        event = from_json(line, cache_strings="keys")
    except ValueError:
        try:
            # it knows lone surrogates, which a model can print
            event = json.loads(line)
        except (ValueError, RecursionError):
            return None
    return event if isinstance(event, dict) else None


def line(message: Mapping[str, Any]) -> bytes:
    """A message on a line of its own."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
