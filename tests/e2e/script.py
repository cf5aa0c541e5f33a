"""What the fake model does, step by step.

A script is a list of steps kept under a key; the prompt names it as `[[script KEY]]`. The newest
user message that names one decides, and each assistant message after it moves one step on: a tool's
round trip and a further turn of the same conversation both do. Past the end the model says "done".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import anyio


@dataclass(frozen=True)
class Use:
    """A tool call of the model."""

    name: str
    input: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Say:
    """One assistant message: `text`, `further` blocks of text, then the tool calls.

    `after` holds the answer back before its headers until the event is set. `interval_s` is the
    pause between the `chunks` in which the text is streamed; `cut` drops the connection half-way.
    """

    text: str | None = None
    further: tuple[str, ...] = ()
    tools: tuple[Use, ...] = ()
    after: anyio.Event | None = None
    chunks: int = 1
    interval_s: float = 0.0
    cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Fail:
    """An error answer of the API, for the first `times` requests that reach this step (None: all).

    After those the step answers "recovered".
    """

    status: int
    message: str = "refused by the script"
    headers: dict[str, str] = field(default_factory=dict)
    times: int | None = None


@dataclass(frozen=True, kw_only=True)
class Hang:
    """An API that never answers, or one that goes silent once the stream has begun."""

    in_stream: bool = False


Step = Say | Fail | Hang

_NAMED = re.compile(r"\[\[script ([a-z0-9-]+)\]\]")


def say(text: str) -> Say:
    """The model says this and ends its turn."""
    return Say(text=text)


def use(name: str, /, **arguments: Any) -> Say:
    """The model calls one tool."""
    return Say(tools=(Use(name, arguments),))


def bash(command: str, **arguments: Any) -> Say:
    """The model runs a shell command."""
    return use("Bash", **{"command": command, "description": "scripted", **arguments})


def position(messages: list[dict[str, Any]]) -> tuple[str | None, int]:
    """The key that the conversation names last, and how many assistant messages follow it."""
    answered = 0
    for message in reversed(messages):
        if message.get("role") == "assistant":
            answered += 1
        elif keys := _NAMED.findall(text_of(message)):
            return keys[-1], answered
    return None, answered


def asks_for_a_title(messages: list[dict[str, Any]]) -> bool:
    """Whether 2.1.197 asks for a name of its session, which it does where nothing forbids it."""
    return len(messages) == 1 and text_of(messages[0]).startswith("<session>")


def text_of(message: dict[str, Any]) -> str:
    """The text blocks of a message; tool results do not count."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(block.get("text", "") for block in blocks if block.get("type") == "text")
