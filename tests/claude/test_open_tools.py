"""The open tool call, and the head of what it was given."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from support.batches import batch_of

from hive_subagent.claude.conversation import Conversation
from hive_subagent.claude.open_tools import HEAD_LIMIT, head_of


def opened(given: Any, name: str = "Bash", **more: Any) -> bytes:
    call = {"type": "tool_use", "id": "t1", "name": name, "input": given}
    line = {"type": "assistant", "message": {"content": [call]}, "parent_tool_use_id": None, **more}
    return json.dumps(line).encode() + b"\n"


def test_the_open_tool_says_what_it_was_called_with() -> None:
    """Issue 9, 33."""
    conversation = Conversation()
    conversation.take(batch_of(opened({"command": "make test\nmake lint", "description": "check"})))
    assert conversation.open_tool is not None
    assert conversation.open_tool.name == "Bash"
    assert conversation.open_tool.input == r"make test\nmake lint"


def test_a_call_of_a_subagents_subagent_is_not_told() -> None:
    conversation = Conversation()
    conversation.take(batch_of(opened({"command": "x"}, parent_tool_use_id="t0")))
    assert conversation.open_tool is None


@pytest.mark.parametrize(
    ("given", "head"),
    [
        ({"file_path": "/srv/app/x.py", "old_string": "a", "new_string": "b"}, "/srv/app/x.py"),
        ({"pattern": "TODO", "path": "src"}, "TODO"),
        ({"command": " "}, '{"command": " "}'),
        ({"answer": 42}, '{"answer": 42}'),
        ({}, ""),
        (None, ""),
        ([1], "[1]"),
    ],
)
def test_the_head_is_what_tells_most(given: Any, head: str) -> None:
    """Issue 9, 33."""
    assert head_of(given) == head


HUGE: list[dict[str, Any]] = [
    {"command": "x" * 10_000_000},
    {"a": ["y" * 10_000_000]},
    {"command": "\n" * 150},
    {"a": json.loads("[" * 900 + "]" * 900)},
]


@pytest.mark.parametrize("given", HUGE, ids=["long", "long within", "escapes", "deep"])
def test_a_huge_input_is_cut_with_a_mark(given: dict[str, Any]) -> None:
    """Issue 9, 33."""
    head = head_of(given)
    assert len(head) == HEAD_LIMIT
    assert head.endswith("…")


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(st.characters(), max_size=300),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
)


@drawn(values | st.dictionaries(st.sampled_from(["command", "prompt", "x"]), values))
def test_whatever_the_input_its_head_is_one_short_line(given: Any) -> None:
    """Issue 9, 33."""
    head = head_of(given)
    assert len(head) <= HEAD_LIMIT
    assert head.isprintable()
