"""Whether claude has ended a turn against its Stop hooks, which had it go on time after time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WARNING_LIMIT = 1000
"""Characters of claude's warning that are passed on."""

MOST_BLOCKS = 9
"""Blocks in a row after which claude ends the turn (measured with 2.1.197 and 2.1.332)."""

_FEEDBACK = "Stop hook feedback:"
_CAP = "stop-hook-block-cap"

# 2.1.197 says nothing at all
_SILENT = (
    f"A Stop hook blocked the end of the turn {MOST_BLOCKS} times in a row; claude ended it all the"
    " same."
)


class StopHooks:
    """Feed it the lines of the main agent; `warning` is what is to be told, the last."""

    def __init__(self) -> None:
        self.warning: str | None = None
        self._blocks = 0

    def system(self, event: Mapping[str, Any]) -> None:
        """Take in a `system` line: since about 2.1.330 claude warns in one."""
        text = event.get("text")
        if event.get("key") == _CAP and isinstance(text, str) and text.strip():
            self.warning = text.strip()[:WARNING_LIMIT]

    def user(self, event: Mapping[str, Any], content: object) -> None:
        """Take in a `user` line; a tool's result ends a row of blocks."""
        first = content[0] if isinstance(content, list) and content else None
        text = first.get("text") if isinstance(first, dict) else None
        if event.get("isSynthetic") is True and isinstance(text, str):
            self._blocks += text.startswith(_FEEDBACK)
        else:
            self._blocks = 0

    def result(self, text: str) -> None:
        """Take in the end of a turn and what claude gives as its answer."""
        if self._blocks >= MOST_BLOCKS and not text and self.warning is None:
            self.warning = _SILENT
        self._blocks = 0
