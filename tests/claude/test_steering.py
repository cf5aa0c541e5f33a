"""Which of our messages and answers claude has taken in, while turns are cut and joined."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.batches import batch_of

from hive_subagent.claude import transcripts
from hive_subagent.claude.conversation import Conversation, Message

INIT = {"type": "system", "subtype": "init"}
ABORTED = {"type": "result", "is_error": True, "terminal_reason": "aborted_tools"}


def say(conversation: Conversation, *events: dict[str, Any]) -> None:
    for event in events:
        conversation.take(batch_of(json.dumps(event).encode() + b"\n"))


def replay(uuid: str) -> dict[str, Any]:
    return {"type": "user", "isReplay": True, "uuid": uuid, "message": {"content": "x"}}


def answer(text: str) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "result": text}


def working(uuid: str) -> Conversation:
    """A claude that works on the message `uuid`."""
    conversation = Conversation()
    conversation.sent(Message(uuid))
    say(conversation, INIT, replay(uuid))
    return conversation


def test_the_end_of_a_turn_that_was_cut_is_no_answer_to_the_message_it_was_cut_for() -> None:
    conversation = working("m1")
    second = conversation.sent(Message("m2", cuts=True))
    say(conversation, ABORTED, INIT, replay("m2"))
    assert second.result is None
    say(conversation, answer("two"))
    assert second.result == answer("two")


def test_a_turn_that_ended_before_it_could_be_cut_does_not_answer_either() -> None:
    conversation = working("m1")
    second = conversation.sent(Message("m2", cuts=True))
    say(conversation, answer("one"), INIT, replay("m2"), answer("two"))
    assert second.result == answer("two")
    assert conversation.message is not None


def test_messages_that_were_joined_are_consumed_each_and_answered_by_one_result() -> None:
    """2.1.332: two that wait for a turn open one together; each is replayed."""
    conversation = working("m1")
    second, third = (
        conversation.sent(Message("m2", cuts=True)),
        conversation.sent(Message("m3", cuts=True)),
    )
    say(conversation, ABORTED, replay("m2"), INIT, replay("m3"), answer("both"))
    assert (second.consumed, third.consumed) == (True, True)
    assert third.result == answer("both")
    assert conversation.unread == []


def test_a_message_that_was_cut_before_its_replay_counts_as_consumed_with_it() -> None:
    conversation = Conversation()
    first, second = conversation.sent(Message("m1")), conversation.sent(Message("m2", cuts=True))
    say(conversation, INIT, replay("m1"), ABORTED)
    assert (first.consumed, second.consumed, second.result) == (True, False, None)


def test_a_turn_that_is_ended_for_good_ends_with_the_next_abort() -> None:
    conversation = working("m1")
    second = conversation.sent(Message("m2", cuts=True))
    conversation.stopping = True
    say(conversation, ABORTED)
    assert second.result == ABORTED


def test_an_answer_is_consumed_when_it_is_echoed_and_lost_when_it_is_cancelled() -> None:
    conversation = working("m1")
    first, second = (conversation.answered(id, Message(id)) for id in ("r1", "r2"))
    say(conversation, {"type": "control_response", "response": {"request_id": "r1"}})
    assert (first.consumed, first.lost, second.consumed) == (True, False, False)
    say(conversation, {"type": "assistant", "message": {"content": []}})
    assert not second.consumed
    say(conversation, {"type": "control_cancel_request", "request_id": "r2"})
    assert (second.consumed, second.lost) == (False, True)


@pytest.mark.parametrize("event", [{"type": "assistant", "message": {"content": []}}, answer("")])
def test_an_answer_counts_once_the_agent_goes_on_where_nothing_is_echoed(event: Any) -> None:
    conversation = working("m1")
    given = conversation.answered("r1", Message("hook-1"))
    say(conversation, event | {"parent_tool_use_id": "toolu_1"})
    assert not given.consumed
    say(conversation, event)
    assert given.consumed


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"type":"user","message":{},"uuid":"U"}', True),
        ('{"type":"attachment","attachment":{"source_uuid":"U"},"uuid":"V"}', True),
        ('{"type":"attachment","attachment":{"toolUseID":"U"},"uuid":"V"}', True),
        ('{"type":"user","parentUuid":"U","uuid":"V"}', False),
        ('{"type":"queue-operation","operation":"remove","commandUuid":"U"}', False),
        ('{"type":"user","message":{"content":"\\"uuid\\":\\"U\\""},"uuid":"V"}', False),
    ],
)
def test_a_transcript_tells_what_was_taken_in(tmp_path: Any, line: str, found: bool) -> None:
    transcript = tmp_path / "session.jsonl"
    transcript.write_text(f"{line}\n")
    assert transcripts.took_in(transcript, "U") is found
    assert not transcripts.took_in(tmp_path / "none.jsonl", "U")
