"""What is read out of the lines of one process."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batches import batch_of

from hive_subagent.claude.conversation import Conversation, Message

SAMPLES = Path(__file__).parent / "samples"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def say(conversation: Conversation, *events: dict[str, Any]) -> None:
    for event in events:
        conversation.take(batch_of(json.dumps(event).encode() + b"\n"))


def replay(uuid: str) -> dict[str, Any]:
    return {"type": "user", "isReplay": True, "uuid": uuid, "message": {"content": "x"}}


def answer(text: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "result": text,
        **more,
    }


def tool_use(name: str, id: str, parent: str | None = None) -> dict[str, Any]:
    part = {"type": "tool_use", "id": id, "name": name, "input": {}}
    return {"type": "assistant", "message": {"content": [part]}, "parent_tool_use_id": parent}


def tool_result(id: str) -> dict[str, Any]:
    return {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id}]}}


def test_a_result_that_answers_no_message_of_ours_is_passed_over() -> None:
    """A background task's end opens a turn of its own, whose result comes before ours."""
    conversation = Conversation()
    first = conversation.sent(Message("m1"))
    say(conversation, {"type": "system", "subtype": "init"}, replay("m1"), answer("one"))
    second = conversation.sent(Message("m2"))
    say(conversation, answer("background"), replay("m2"), answer("two"))
    assert first.result is not None
    assert second.result is not None
    assert (first.result["result"], second.result["result"]) == ("one", "two")


def test_a_result_counts_without_a_replay_where_this_claude_never_replays() -> None:
    conversation = Conversation()
    message = conversation.sent(Message("m1"))
    say(conversation, answer("one"))
    assert message.result is not None


def texts(conversation: Conversation) -> list[str]:
    return [answer.text for answer in conversation.spoken.answers]


def test_a_later_result_adds_an_answer_unless_it_is_an_error_and_changes_no_ending() -> None:
    """Issue 9, 2: the last one replaced those before."""
    conversation = Conversation()
    message = conversation.sent(Message("m1"))
    say(conversation, replay("m1"), answer("one"), answer("two"), answer("x", is_error=True))
    assert message.result == answer("one")
    assert texts(conversation) == ["one", "two"]


def test_a_subagents_result_is_not_the_turns() -> None:
    conversation = Conversation()
    message = conversation.sent(Message("m1"))
    say(conversation, replay("m1"), answer("inner", parent_tool_use_id="toolu_1"))
    assert message.result is None


def test_an_abort_ends_a_message_that_was_not_consumed_yet() -> None:
    conversation = Conversation()
    conversation.sent(Message("m1"))
    say(conversation, replay("m1"), answer("one"))
    second = conversation.sent(Message("m2"))
    aborted = {"type": "result", "is_error": True, "terminal_reason": "aborted_streaming"}
    say(conversation, aborted)
    assert second.result == aborted


def test_an_acknowledgement_is_no_first_event() -> None:
    acknowledged = Conversation()
    say(acknowledged, {"type": "control_response", "response": {}}, {"type": "result"})
    assert not acknowledged.begun
    conversation = Conversation()
    say(conversation, {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w"})
    assert conversation.begun
    assert (conversation.session_id, conversation.directory) == ("s", "/w")


def test_the_session_is_known_although_another_event_came_before_init() -> None:
    conversation = Conversation()
    say(
        conversation,
        {"type": "system", "subtype": "session_title_changed", "title": "x"},
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w"},
    )
    assert conversation.session_id == "s"


def test_every_line_is_a_sign_of_life_whatever_it_says() -> None:
    """R3, R8: liveness counts lines, not meanings."""
    clock = Clock()
    conversation = Conversation(clock=clock)
    for line in (b"plain text\n", b'{"type":"brand_new"}\n', b'{"half\n', b"\xff\n", b"\n"):
        clock.now += 10
        conversation.take(batch_of(line))
        assert conversation.last_line_at == clock.now
    assert conversation.lines == 5


def test_the_open_tool_is_the_one_that_waits_longest_for_its_result() -> None:
    """R9."""
    clock = Clock()
    conversation = Conversation(clock=clock)
    say(conversation, {"type": "system"}, tool_use("Bash", "t1"), tool_use("Read", "t2"))
    clock.now += 7
    assert conversation.open_tool is not None
    assert (conversation.open_tool.name, conversation.open_tool.age_s) == ("Bash", 7)
    say(conversation, tool_result("t1"))
    assert conversation.open_tool.name == "Read"
    say(conversation, tool_result("t2"))
    assert conversation.open_tool is None


def test_a_tool_of_a_subagent_is_not_the_open_one() -> None:
    conversation = Conversation()
    say(conversation, {"type": "system"}, tool_use("Bash", "t1", parent="toolu_0"))
    assert conversation.open_tool is None


def test_a_malformed_event_costs_nothing() -> None:
    conversation = Conversation()
    message = conversation.sent(Message("m"))
    say(
        conversation,
        {"type": "system", "subtype": "init", "session_id": 7, "cwd": None},
        {"type": "assistant", "message": "tool_use"},
        {"type": "assistant", "message": {"content": "tool_use"}},
        {"type": "assistant", "message": {"content": ["tool_use", None, {"type": "tool_use"}]}},
        {"type": "user", "message": None, "isReplay": "yes", "tool_result": 1},
        {"type": "result", "total_cost_usd": "much"},
    )
    assert conversation.session_id is None
    assert conversation.cost_total is None
    assert message.result is not None


def test_the_two_versions_are_told_apart_by_what_their_cost_counts() -> None:
    for version, of_the_session in (("2.1.197", False), ("2.1.332", True)):
        conversation = Conversation()
        conversation.sent(Message(""))
        data = (SAMPLES / version / "stream-input-two-turns.jsonl").read_bytes()
        conversation.take(batch_of(data))
        assert conversation.cost_total is not None
        assert conversation.cost_is_of_the_session is of_the_session


def retry(attempt: int | None = 2, **more: Any) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "api_retry",
        "attempt": attempt,
        "max_retries": 10,
        "retry_delay_ms": 1500.25,
        "error_status": 429,
        "error": "rate_limit",
        **more,
    }


def test_a_refusal_by_the_api_is_told_until_anything_else_is_said() -> None:
    """R32."""
    clock = Clock()
    conversation = Conversation(clock=clock)
    say(conversation, {"type": "system", "subtype": "init"}, retry(1), retry(2))
    clock.now += 1
    waits = conversation.api_retry
    assert waits is not None
    assert (waits.attempt, waits.max_retries, waits.next_try_s) == (2, 10, 0.5)
    assert (waits.status, waits.error) == (429, "rate_limit")
    clock.now += 9
    assert conversation.api_retry is not None
    assert conversation.api_retry.next_try_s == 0
    # a line that nobody parses counts as well
    say(conversation, {"type": "stream_event"})
    assert conversation.api_retry is None


def test_a_refusal_is_over_where_the_same_block_goes_on() -> None:
    lines = [retry(), {"type": "stream_event"}]
    conversation = Conversation(begun=True)
    conversation.take(batch_of(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))
    assert conversation.api_retry is None
    conversation.take(batch_of(b"".join(json.dumps(line).encode() + b"\n" for line in lines[::-1])))
    assert conversation.api_retry is not None


def test_a_refusal_without_an_answer_or_with_odd_values_is_told_too() -> None:
    conversation = Conversation()
    say(conversation, retry(error_status=None, error=None, retry_delay_ms="soon", attempt=None))
    told = conversation.api_retry
    assert told is not None
    assert (told.status, told.error, told.next_try_s, told.attempt) == (None, "unknown", 0, 0)


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.text(st.characters(), max_size=5)
    | st.sampled_from([10**400, -1, 1e308, float("inf"), float("nan"), "\ud800", "\x1b[2J"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result"])},
    optional=dict.fromkeys(("id", "name", "input", "text", "tool_use_id"), ODD),
)
EVENT = st.fixed_dictionaries(
    {"type": st.sampled_from(["system", "assistant", "user", "result", "control_request"])},
    optional={
        "subtype": st.sampled_from(["init", "api_retry", "success"]) | ODD,
        "message": st.fixed_dictionaries({"content": st.lists(PART | ODD, max_size=3)}) | ODD,
        "uuid": st.just("m1") | ODD,
        "request": st.dictionaries(st.just("subtype"), ODD) | ODD,
        **dict.fromkeys(("isReplay", "result", "is_error", "terminal_reason", "errors"), ODD),
        **dict.fromkeys(("parent_tool_use_id", "session_id", "cwd", "request_id"), ODD),
        **dict.fromkeys(("total_cost_usd", "retry_delay_ms", "error_status", "error"), ODD),
        **dict.fromkeys(("attempt", "max_retries"), ODD),
    },
)


@given(st.lists(EVENT, max_size=4))
def test_absurd_values_cost_neither_the_run_nor_its_state(events: list[dict[str, Any]]) -> None:
    """R3."""
    conversation = Conversation()
    conversation.sent(Message("m1"))
    say(conversation, *events)
    for told in (conversation.api_retry, conversation.open_tool):
        if told is not None:
            json.loads(told.model_dump_json())
    cost = conversation.cost_total
    assert cost is None or math.isfinite(cost)


@pytest.mark.parametrize("cost", [float("inf"), float("nan"), 10**400, "1", None, [1]])
def test_a_cost_that_is_no_number_is_unknown(cost: object) -> None:
    conversation = Conversation()
    say(conversation, answer("x", total_cost_usd=cost))
    assert conversation.cost_total is None


def test_a_tool_of_any_name_can_be_told() -> None:
    conversation = Conversation()
    say(conversation, tool_use("\ud800\x1b[2J\n" + "x" * 9_000, "t"))
    opened = conversation.open_tool
    assert opened is not None
    assert opened.name.startswith("\\ud800\\x1b[2J\\nxxx")
    assert len(opened.name) == 200
