"""A scripted answer in the Messages API's two shapes: one JSON object, or server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from e2e.script import Say

_serial = count(1)
INPUT_TOKENS, OUTPUT_TOKENS = 100, 20


def message(model: str, answer: Say) -> dict[str, Any]:
    """The whole message, as a request without `stream` gets it."""
    blocks: list[dict[str, Any]] = []
    if answer.text is not None or not answer.tools:
        text = "done" if answer.text is None else answer.text
        # a message without any block, where it is empty
        blocks += [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "text", "text": further} for further in answer.further]
    blocks += [
        {"type": "tool_use", "id": f"toolu_{next(_serial):08d}", "name": t.name, "input": t.input}
        for t in answer.tools
    ]
    return {
        "id": f"msg_{next(_serial):08d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if answer.tools else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": INPUT_TOKENS,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": OUTPUT_TOKENS,
            "service_tier": "standard",
        },
    }


def opening(whole: dict[str, Any]) -> bytes:
    """The event that begins a stream."""
    begun = {**whole, "content": [], "stop_reason": None}
    return _event("message_start", message=begun)


def deltas(whole: dict[str, Any], chunks: int) -> Iterator[bytes]:
    """The content as events, each text in that many pieces."""
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, parts = {**block, "text": ""}, _pieces(block["text"], chunks)
            changes = [{"type": "text_delta", "text": part} for part in parts]
        else:
            empty = {**block, "input": {}}
            changes = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield _event("content_block_start", index=index, content_block=empty)
        for change in changes:
            yield _event("content_block_delta", index=index, delta=change)
        yield _event("content_block_stop", index=index)


def closing(whole: dict[str, Any]) -> bytes:
    """The events that end a stream."""
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    return _event("message_delta", delta=delta, usage={"output_tokens": OUTPUT_TOKENS}) + _event(
        "message_stop"
    )


def _event(name: str, **fields: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()


def _pieces(text: str, chunks: int) -> list[str]:
    size = max(1, -(-len(text) // chunks))
    return [text[at : at + size] for at in range(0, len(text), size)]
