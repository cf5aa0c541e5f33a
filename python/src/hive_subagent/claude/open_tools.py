"""The tool calls of the main agent that have no result yet, and the head of what they are given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hive_subagent.claude import bounds
from hive_subagent.models.session import OpenTool
from hive_subagent.system.sanitize import on_one_line

NAME_LIMIT = 200
"""Characters of a tool's name that are passed on."""

HEAD_LIMIT = 200
"""Characters of a tool's input that are passed on."""

# what tells most of a call, of the tools that claude has itself
_TELLING = ("command", "file_path", "pattern", "url", "query", "description", "skill", "prompt")


@dataclass(frozen=True)
class _Open:
    name: str
    head: str
    since: float


class OpenTools:
    """Feed it the content blocks of the main agent's lines; times are those of one clock."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    def block(self, part: Mapping[str, Any], now: float) -> None:
        """Take in one content block; only a call and a result change anything. Raises Excess."""
        if part.get("type") == "tool_use":
            name = on_one_line(str(part.get("name"))[:NAME_LIMIT])[:NAME_LIMIT]
            self._open[str(part.get("id"))[:NAME_LIMIT]] = _Open(
                name, head_of(part.get("input")), now
            )
            bounds.check_open_tools(len(self._open))
        elif part.get("type") == "tool_result":
            self._open.pop(str(part.get("tool_use_id"))[:NAME_LIMIT], None)

    def clear(self) -> None:
        """The turn is over, and with it every call."""
        self._open.clear()

    def name_of(self, tool_use_id: object) -> str | None:
        """The tool of an open call."""
        found = self._open.get(str(tool_use_id)[:NAME_LIMIT])
        return found.name if found is not None else None

    def longest(self, now: float) -> OpenTool | None:
        """The call that has waited longest for its result."""
        for call in self._open.values():
            return OpenTool(name=call.name, age_s=round(now - call.since, 3), input=call.head)
        return None


def head_of(given: object) -> str:
    """The beginning of a tool's input on one line: what tells most of it, else its JSON."""
    if isinstance(given, dict):
        for key in _TELLING:
            if isinstance(value := given.get(key), str) and value.strip():
                return _head(value.strip())
    return _head(_as_json(given)) if given else ""


def _as_json(given: object) -> str:
    # piece by piece, since an input can have many megabytes
    said = ""
    with suppress(RecursionError):  # its head is enough
        for piece in json.JSONEncoder(ensure_ascii=False).iterencode(given):
            said += piece[:HEAD_LIMIT]
            if len(said) > HEAD_LIMIT:
                break
    return said


def _head(text: str) -> str:
    # cut before each step: a text can be long, and an escape is longer than its character
    shown = on_one_line(text[: HEAD_LIMIT + 1])
    return shown if len(shown) <= HEAD_LIMIT else f"{shown[: HEAD_LIMIT - 1]}…"
