"""What a subagent is told, in which order, and what stays silent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .channel import Channel, event

PROPERTY = settings(max_examples=25)


def test_an_idle_channel_gets_no_answer(channel: Channel) -> None:
    assert channel.fire().said is None
    assert channel.names() == set()


def test_an_intervention_blocks_with_its_text_and_is_consumed(channel: Channel) -> None:
    channel.put("_intervene.txt", "Switch to plan B.\nKeep the tests.\n")
    assert channel.fire().said == {
        "decision": "block",
        "reason": "[PARENT INTERVENTION] Switch to plan B.\nKeep the tests.",
    }
    assert channel.names() == set()
    assert channel.fire().said is None


def test_a_stop_is_told_first_and_the_others_are_left(channel: Channel) -> None:
    channel.put("_intervene.txt", "plan B")
    channel.put("_keyinfo.txt", "the port is 9")
    channel.put("_stop.txt", "cancelled\n")
    assert channel.fire().reason == "[parent-stop] cancelled"
    assert channel.names() == {"_intervene.txt", "_keyinfo.txt"}
    assert not channel.keyinfo.exists()
    channel.later()
    assert channel.fire().reason == "[PARENT INTERVENTION] plan B"
    assert channel.keyinfo.read_text() == "the port is 9\n"
    assert channel.names() == set()


def test_key_information_is_kept_in_order_and_says_nothing(channel: Channel) -> None:
    for text in ("first", "second\n"):
        channel.put("_keyinfo.txt", text)
        assert channel.fire().said is None
    assert channel.keyinfo.read_text() == "first\nsecond\n"
    assert channel.keyinfo.stat().st_mode & 0o777 == 0o600
    assert channel.names() == set()


def test_a_failed_tool_is_a_step_too(channel: Channel) -> None:
    channel.put("_intervene.txt", "plan B")
    assert channel.fire(given=event("PostToolUseFailure")).reason.endswith("plan B")


@pytest.mark.parametrize("name", ["PreToolUse", "PostToolBatch", "Stop", "SubagentStop"])
def test_an_event_where_a_block_means_something_else_consumes_nothing(
    channel: Channel, name: str
) -> None:
    channel.put("_intervene.txt", "plan B")
    assert channel.fire(given=event(name)).said is None
    assert channel.names() == {"_intervene.txt"}


def test_the_hook_for_subagents_leaves_the_files_to_them(channel: Channel) -> None:
    channel.put("_intervene.txt", "plan B")
    assert channel.fire("--for", "subagents").said is None
    answer = channel.fire("--for", "subagents", given=event(agent_id="a6b6", agent_type="general"))
    assert answer.reason.endswith("plan B")
    assert "agent a6b6: tool Bash done: make test" in channel.told()


def test_the_hook_for_the_main_agent_is_not_taken_by_its_subagents(channel: Channel) -> None:
    channel.put("_intervene.txt", "plan B")
    assert channel.fire("--for", "main", given=event(agent_id="a6b6")).said is None
    assert channel.fire("--for", "main").reason.endswith("plan B")


@pytest.mark.parametrize("whom", ["main", "subagents"])
def test_whom_it_acts_for_may_be_said_in_one_word(channel: Channel, whom: str) -> None:
    channel.put("_intervene.txt", "plan B")
    other, theirs = ({"agent_id": "a6b6"}, {}) if whom == "main" else ({}, {"agent_id": "a6b6"})
    assert channel.fire(f"--for={whom}", given=event(**other)).said is None
    assert channel.fire(f"--for={whom}", given=event(**theirs)).reason.endswith("plan B")


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--for"], ["--for", "nobody"], ["--for", "subagent"], ["--for="], ["--for=mains"]),
        *(["main"], ["--frobnicate"], [""], ["--for", "main", "subagents"]),
    ],
)
@pytest.mark.parametrize("fields", [{}, {"agent_id": "a6b6"}])
def test_with_arguments_it_does_not_know_it_does_nothing_and_says_so(
    channel: Channel, arguments: list[str], fields: dict[str, str]
) -> None:
    channel.put("_intervene.txt", "plan B")
    answer = channel.fire(*arguments, given=event(**fields))
    assert answer.said is None
    assert channel.names() == {"_intervene.txt"}
    for place in (answer.log, channel.told()):
        assert "it takes --for main or --for subagents, not" in place


@pytest.mark.parametrize("whom", ["main", "subagents"])
@pytest.mark.parametrize(
    "given",
    [b"", b"{", b"[]", b'{"agent_id": "a6b6", "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"],
    ids=["nothing", "half", "list", "deep"],
)
def test_an_event_that_cannot_be_read_is_nobodys(channel: Channel, whom: str, given: bytes) -> None:
    channel.put("_intervene.txt", "plan B")
    answer = channel.fire("--for", whom, given=given)
    assert answer.said is None
    assert "cannot be read" in answer.log
    assert channel.names() == {"_intervene.txt"}


def test_a_number_of_any_length_hides_nothing_of_its_event(channel: Channel) -> None:
    channel.put("_intervene.txt", "plan B")
    long = event(tool_input={"n": 7}, agent_id="a6b6").replace(b"7", b"9" * 5_000)
    assert channel.fire("--for", "main", given=long).said is None
    assert channel.fire("--for", "subagents", given=long).reason.endswith("plan B")


def test_the_channel_of_the_project_counts_after_a_change_of_directory(
    channel: Channel, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    channel.put("_keyinfo.txt", "the port is 9")
    channel.fire(cwd=elsewhere, CLAUDE_PROJECT_DIR=str(channel.project))
    assert channel.keyinfo.read_text() == "the port is 9\n"
    assert list(elsewhere.iterdir()) == []


def test_the_working_directory_serves_where_the_project_has_no_channel(
    channel: Channel, tmp_path_factory: pytest.TempPathFactory
) -> None:
    channel.put("_intervene.txt", "plan B")
    other: Path = tmp_path_factory.mktemp("other")
    assert channel.fire(CLAUDE_PROJECT_DIR=str(other)).reason.endswith("plan B")


def test_each_tool_is_one_line_for_whoever_follows(channel: Channel) -> None:
    channel.fire(given=event(tool_input={"command": "printf 'a\nb'"}))
    channel.fire(given=event("PostToolUseFailure", tool_name="Read", tool_input={}))
    first, second = channel.told().splitlines()
    assert first.endswith("Z tool Bash done: printf 'a b'")
    assert second.endswith("Z tool Read failed: ")


@given(text=st.text(min_size=1).filter(lambda text: text.strip() != ""))
def test_any_text_reaches_the_subagent_as_it_was_written(
    fresh: Callable[[], Channel], text: str
) -> None:
    channel = fresh()
    channel.put("_intervene.txt", text)
    assert channel.fire().reason == "[PARENT INTERVENTION] " + text.strip()


@given(stdin=st.binary(max_size=300))
def test_no_input_whatever_fails_the_turn_or_loses_the_file(
    fresh: Callable[[], Channel], stdin: bytes
) -> None:
    channel = fresh()
    channel.put("_intervene.txt", "plan B")
    answer = channel.fire(given=stdin)
    assert (answer.said is None) == (channel.names() == {"_intervene.txt"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["hook_event_name", "agent_id", "tool_name", "tool_input", "x"])


@given(fields=st.dictionaries(KEYS, JSON))
def test_no_event_of_another_shape_fails_the_turn_or_loses_the_file(
    fresh: Callable[[], Channel], fields: dict[str, object]
) -> None:
    channel = fresh()
    channel.put("_intervene.txt", "plan B")
    answer = channel.fire("--for", "main", given=json.dumps(fields).encode())
    assert (answer.said is None) == (channel.names() == {"_intervene.txt"})
    assert len(channel.told().splitlines()) <= 1


def test_an_answer_of_megabytes_is_read_to_its_end(channel: Channel) -> None:
    """A hook that closed its input early would lose its answer to a broken pipe of the CLI."""
    channel.put("_intervene.txt", "plan B")
    whole = event(tool_response={"stdout": "x" * 5_000_000}, agent_id="late")
    assert channel.fire(given=whole).reason.endswith("plan B")


def test_who_asks_is_read_behind_an_answer_of_hundreds_of_kilobytes(channel: Channel) -> None:
    channel.put("_intervene.txt", "plan B")
    whole = event(tool_response={"stdout": "x" * 900_000}, agent_id="late")
    assert channel.fire("--for", "subagents", given=whole).reason.endswith("plan B")
