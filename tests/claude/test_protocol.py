"""Messages of the control channel, and which lines have to be read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.claude import protocol


@given(text=st.text() | st.just("half a pair: \ud83d"))
def test_a_message_is_one_line_of_ascii_that_carries_any_text(text: str) -> None:
    line = protocol.user_message(text, uuid="u")
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line)["message"]["content"] == text


@pytest.mark.parametrize("text", ["/clear", "/compact now", "/etc/x is where it lies"])
def test_a_prompt_never_becomes_a_slash_command(text: str) -> None:
    """R30."""
    prompt = protocol.as_prompt(text)
    assert not prompt.startswith("/")
    assert prompt.strip() == text


@pytest.mark.parametrize("text", ["plain", " /clear", "see /etc/hosts", "", "-x"])
def test_any_other_prompt_is_sent_as_it_is(text: str) -> None:
    assert protocol.as_prompt(text) == text


@pytest.mark.parametrize(
    "line", [b"plain text", b'{"half":', b"[1]", b"7", b"\xff\xfe", b"[" * 9000]
)
def test_a_line_that_is_no_object_is_no_event(line: bytes) -> None:
    """R3."""
    assert protocol.parse(line) is None
