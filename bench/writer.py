#!/usr/bin/env python3
"""A `claude` that says a lot, quickly.

The prompt is its order: "400 64 1" makes 64 MB of lines of 400 bytes, of which two of five are a
tool's. It answers `initialize`, as far as an SDK wants that.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping

SESSION = "00000000-0000-4000-8000-000000000000"
FOR_ALL = {"parent_tool_use_id": None, "session_id": SESSION}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5"}
INIT = {"type": "system", "subtype": "init", "cwd": "/", "session_id": SESSION, "tools": []}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "done",
    "duration_ms": 1,
    "duration_api_ms": 1,
    "num_turns": 1,
    "session_id": SESSION,
    "terminal_reason": "completed",
}


def line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def filled(size: int, make: Callable[[str], Mapping[str, object]]) -> bytes:
    """The line that `make` gives, filled with text to `size` bytes."""
    return line(make("x" * max(0, size - len(line(make(""))))))


def text(words: str) -> dict[str, object]:
    content = [{"type": "text", "text": words}]
    return {"type": "assistant", "message": MESSAGE | {"content": content}, **FOR_ALL}


def tool_use(words: str) -> dict[str, object]:
    content = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": words}}]
    return {"type": "assistant", "message": MESSAGE | {"content": content}, **FOR_ALL}


def tool_result(words: str) -> dict[str, object]:
    content = [{"type": "tool_result", "tool_use_id": "t1", "content": words}]
    return {"type": "user", "message": {"role": "user", "content": content}, **FOR_ALL}


def group(size: int, *, tools: bool) -> bytes:
    if tools:
        return filled(size, text) * 3 + filled(size, tool_use) + filled(size, tool_result)
    return filled(size, text) * 5


def main() -> None:
    for asked in sys.stdin.buffer:
        message = json.loads(asked)
        if message["type"] == "control_request":
            about: dict[str, object] = {
                "subtype": "success",
                "request_id": message["request_id"],
                "response": {},
            }
            write(line({"type": "control_response", "response": about}))
        elif message["type"] == "user":
            write(line(INIT))
            if "uuid" in message:
                write(line(message | {"isReplay": True, "session_id": SESSION}))
            size, megabytes, tools = map(int, message["message"]["content"].split())
            block = group(size, tools=bool(tools)) * max(1, (1 << 20) // (5 * size))
            for _ in range(megabytes):
                write(block)
            write(line(RESULT))


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
