"""Messages of the stream-json control channel, as pure functions.

Everything is written as ASCII JSON: a lone surrogate in a prompt stays an escape and cannot make
the line unencodable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from hive_subagent.claude import bounds

# Most lines of a long stream are what the model says, and begin so; of those only the ones that
# open a tool say anything about the run. Parsing costs ten times as much as looking for that.
_MODEL = b'{"type":"assistant"'
_TOOL = b'"tool_use"'
# raw, as a key: within a text its quotation marks are escaped
_RESULT = b'"type":"result"'
_OF_AGENT = b'"parent_tool_use_id":"'
_USER = b'{"type":"user"'
# a message that ran into the limit of its length is continued in another (2.1.332 says so)
_CUT_SHORT = b'"text":"Output token limit hit.'
_HEAD = 200

BORDER = b""
"""In place of a line that the main agent did not say."""


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


def telling_lines(block: bytes, lines: Sequence[bytes]) -> list[bytes]:
    """Those of a block's lines that have to be parsed for what they say of the run, in order."""
    # one search of the whole is a third of a search in each
    if _TOOL not in block:
        return [line for line in lines if not line.startswith(_MODEL)]
    return [line for line in lines if not line.startswith(_MODEL) or _TOOL in line]


def holds_result(block: bytes) -> bool:
    """Whether one of a block's lines may be a result, so that their order matters."""
    return _RESULT in block


def tells(line: bytes) -> bool:
    """Whether a line has to be parsed for what it says of the run."""
    return not line.startswith(_MODEL) or _TOOL in line


def spoken_lines(block: bytes, lines: Sequence[bytes]) -> list[bytes]:
    """Those of a block's lines that the main agent said, in order; its subagents' are left out.

    `BORDER` stands where it was told something in between: a tool's result, a hook's feedback.
    """
    if _USER not in block and _OF_AGENT not in block:
        return [line for line in lines if line.startswith(_MODEL)]
    return [
        line if line.startswith(_MODEL) else BORDER
        for line in lines
        if line.startswith((_MODEL, _USER)) and _OF_AGENT not in line and not _goes_on(line)
    ]


def _goes_on(line: bytes) -> bool:
    return line.startswith(_USER) and _CUT_SHORT in line[:_HEAD]


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


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
