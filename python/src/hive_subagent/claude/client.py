"""Claude Code as a client of an MCP server: how it is known, and what its model is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.types import ToolAnnotations

NAME = "claude-code"

TESTED_VERSIONS = ("2.1.197", "2.1.332")
"""Versions of the CLI that the end-to-end tests drive."""

IN_PLAN_MODE = ToolAnnotations(read_only_hint=True)
"""Of a tool that claude may call in plan mode: it calls no other (measured with 2.1.332)."""

_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"


def is_claude_code(parameters: Mapping[str, Any] | None, user_agent: str | None) -> bool:
    """Whether a request of MCP comes from Claude Code.

    Of an answer with structured content its model is shown the JSON of that and no text at all,
    whatever the tool's schema says (measured with 2.1.197 and 2.1.332); of one without, the text.
    2.1.332 names itself in each request, 2.1.197 only in the header `User-Agent`.
    """
    meta = (parameters or {}).get("_meta")
    info = meta.get(_CLIENT_INFO) if isinstance(meta, Mapping) else None
    if isinstance(info, Mapping):
        return info.get("name") == NAME
    return (user_agent or "").startswith(f"{NAME}/")
