"""Scripts for the stand-in of claude, as text for a brief or a prompt."""

from __future__ import annotations

import json
from typing import Any

from support import programs

STUB = programs.ours("hive-subagent-stub-claude")

OLD = "2.1.197"
NEW = "2.1.332"

Step = dict[str, Any]

HANG: Step = {"hang": True}
REACHED: Step = {"mcp": "signal/goal_reached", "args": {}}


def script(*steps: Step, **further: Any) -> str:
    """The same steps in each turn; `further` are keys beside them, such as `before_init`."""
    return _directive({"steps": list(steps), **further})


def turns(*each: list[Step], **further: Any) -> str:
    """Steps turn by turn; the last ones again once they run out."""
    return _directive({"turns": list(each), **further})


def text(said: str) -> Step:
    return {"text": said}


def bash(command: str) -> Step:
    return {"bash": command}


def need_help(message: str, **further: str) -> Step:
    return {"mcp": "signal/need_help", "args": {"message": message, **further}}


def goal_reached(summary: str | None = None, **further: str) -> Step:
    given = {} if summary is None else {"summary": summary}
    return {"mcp": "signal/goal_reached", "args": {**given, **further}}


def _directive(value: dict[str, Any]) -> str:
    return f"[[STUB {json.dumps(value)}]]"
