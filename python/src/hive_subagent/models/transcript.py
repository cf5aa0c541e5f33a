"""The structured answer of `transcript`."""

from __future__ import annotations

from typing import Literal

from hive_subagent.models.session import Frozen

EntryKind = Literal[
    "prompt",
    "text",
    "tool_call",
    "tool_result",
    "tool_error",
    "interrupted",
    "compacted",
    "error",
    "unreadable",
]
"""`error` is claude's own, of its API; `unreadable` a line that makes no sense."""


class TranscriptEntry(Frozen):
    """One thing that a session was told, said or did. `truncated`: `text` is not the whole."""

    position: int
    at: str | None
    turn: int | None
    kind: EntryKind
    text: str
    tool: str | None = None
    truncated: bool


class TranscriptReply(Frozen):
    """A page of a session's transcript, oldest first.

    `before` is what to give to get the page before it; None where there is none.
    """

    name: str
    session_id: str
    entries: list[TranscriptEntry]
    before: int | None
