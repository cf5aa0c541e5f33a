"""Messages of the stream-json control channel, as pure functions.

Everything is written as ASCII JSON: a lone surrogate in a prompt stays an escape and cannot make
the line unencodable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# A line matters when it holds one of these as a JSON string. A quote inside a JSON string is
# escaped, so text that merely talks about "result" does not match; what matches is parsed anyway.
# Looking for them costs a tenth of parsing, and most lines of a long stream are text.
_TELLING = (
    b'"result"',
    b'"tool_use"',
    b'"tool_result"',
    b'"isReplay"',
    b'"init"',
    b'"api_retry"',
    b'"control_request"',
)
# only where somebody wants to hear what is said
_SPOKEN = (*_TELLING, b'"text"')


def user_message(text: str, *, uuid: str) -> bytes:
    """One user message; with `--replay-user-messages` claude echoes `uuid` once it consumes it."""
    return _line(
        {"type": "user", "message": {"role": "user", "content": text}, "uuid": uuid},
    )


def control_request(request_id: str, subtype: str, **fields: Any) -> bytes:
    """A request of ours, such as `interrupt` or `initialize`."""
    request = {"subtype": subtype, **fields}
    return _line({"type": "control_request", "request_id": request_id, "request": request})


def control_success(request_id: str, response: Mapping[str, Any]) -> bytes:
    """Our answer to a request of claude's, such as `hook_callback`."""
    answer = {"subtype": "success", "request_id": request_id, "response": response}
    return _line({"type": "control_response", "response": answer})


def control_error(request_id: str, error: str) -> bytes:
    """Our refusal of a request of claude's that we do not serve."""
    answer = {"subtype": "error", "request_id": request_id, "error": error}
    return _line({"type": "control_response", "response": answer})


def as_prompt(text: str) -> str:
    """`text` so that claude sends it to the model whatever it begins with.

    A message that begins with "/" is run as a slash command without any model call and reported
    as a success; a blank before it prevents that (measured with 2.1.197 and 2.1.332).
    """
    return "\n" + text if text.startswith("/") else text


def telling_lines(block: bytes, *, spoken: bool = False) -> list[bytes]:
    """The lines of a block of whole lines that have to be parsed at all, in order.

    `spoken` takes in what the model says.
    """
    found: set[tuple[int, int]] = set()
    for token in _SPOKEN if spoken else _TELLING:
        at = block.find(token)
        while at >= 0:
            end = block.find(b"\n", at)
            if end < 0:
                end = len(block)
            found.add((block.rfind(b"\n", 0, at) + 1, end))
            at = block.find(token, end)
    return [block[start:end] for start, end in sorted(found)]


def last_line(block: bytes) -> bytes:
    """The last line of a block of whole lines."""
    return block[block.rfind(b"\n", 0, -1) + 1 :]


def parse(line: bytes) -> dict[str, Any] | None:
    """The event on a line, or None for plain text, half an object and anything else."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
