"""The answer of a turn: the whole final message, or the last that was said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.batches import batch_of

from hive_subagent.claude.answers import MOST_ANSWERS, MOST_LINES, Answer
from hive_subagent.claude.conversation import Conversation, Message

SAMPLES = Path(__file__).parent / "samples"
BOTH = pytest.mark.parametrize("version", ["2.1.332", "2.1.197"])


def heard(version: str, case: str) -> Conversation:
    conversation = Conversation()
    conversation.sent(Message("m"))
    conversation.take(batch_of((SAMPLES / version / f"{case}.jsonl").read_bytes()))
    return conversation


def said(text: str, id: str = "m1", **more: Any) -> dict[str, Any]:
    message = {"id": id, "content": [{"type": "text", "text": text}], **more}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None}


def used(id: str = "m1") -> dict[str, Any]:
    part = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    return {
        "type": "assistant",
        "message": {"id": id, "content": [part]},
        "parent_tool_use_id": None,
    }


def result(text: str, **more: Any) -> dict[str, Any]:
    done = {"subtype": "success", "is_error": False, "terminal_reason": "completed"}
    return {"type": "result", **done, "result": text, **more}


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(e, separators=(",", ":")).encode() + b"\n" for e in events)


def answers(*events: dict[str, Any]) -> list[Answer]:
    """What comes of these lines, which is the same whether they come one by one or at once."""
    at_once, stepwise = Conversation(), Conversation()
    at_once.begun = stepwise.begun = True
    at_once.take(batch_of(lines(*events)))
    for event in events:
        stepwise.take(batch_of(lines(event)))
    assert at_once.spoken.answers == stepwise.spoken.answers
    return at_once.spoken.answers


@BOTH
def test_all_blocks_of_the_final_message_are_told(version: str) -> None:
    """Issue 9, 7: claude's result is the last of them."""
    (answer,) = heard(version, "answer-several-blocks").spoken.answers
    assert answer == Answer("First block.\n\nSecond block.\n\nThird block.")


@BOTH
def test_what_was_said_before_a_tool_call_is_no_part_of_the_final_message(version: str) -> None:
    """Issue 9, 7."""
    (answer,) = heard(version, "answer-blocks-and-tool").spoken.answers
    assert answer == Answer("B1\n\nB2")


@BOTH
def test_the_last_text_stands_in_for_an_empty_final_message(version: str) -> None:
    """Issue 9, 8."""
    (answer,) = heard(version, "answer-beside-tool").spoken.answers
    assert answer == Answer("The answer is 42.", beside_tool=True)


@BOTH
def test_a_turn_that_said_nothing_has_an_empty_answer(version: str) -> None:
    """Issue 9, 8."""
    assert heard(version, "answer-silent").spoken.answers == [Answer("")]


@BOTH
def test_a_message_that_was_cut_at_its_limit_is_told_with_what_followed(version: str) -> None:
    """Issue 9, 7: claude goes on in another message, and gives the last part alone."""
    (answer,) = heard(version, "answer-max-tokens").spoken.answers
    assert answer == Answer("Part one part two.The end.")


@BOTH
def test_an_overridden_stop_hook_leaves_the_last_answer_and_a_warning(version: str) -> None:
    """Issue 9, 11: 2.1.197 says nothing itself."""
    conversation = heard(version, "stop-hooks-overridden")
    assert conversation.spoken.answers == [Answer("answer 9")]
    assert "9 " in (conversation.stop_hooks.warning or "")
    assert "Stop" in (conversation.stop_hooks.warning or "")


@BOTH
@pytest.mark.parametrize("case", ["answer-several-blocks", "hook-stop-block"])
def test_other_turns_have_no_warning(version: str, case: str) -> None:
    """Issue 9, 11."""
    assert heard(version, case).stop_hooks.warning is None


@BOTH
@pytest.mark.parametrize("case", ["prompt-blocked", "prompt-blocked-exit2", "prompt-stopped"])
def test_a_prompt_that_was_blocked_has_no_answer(version: str, case: str) -> None:
    """Issue 9, 10."""
    conversation = heard(version, case)
    assert conversation.spoken.answers == []
    assert conversation.message is not None
    assert conversation.message.result is not None


def test_a_subagents_words_are_not_its_main_agents() -> None:
    """Issue 9, 8: however many there are."""
    inner = [said(str(n), id=f"i{n}") | {"parent_tool_use_id": "toolu_1"} for n in range(999)]
    found = answers(said("beside"), used(), *inner, result(""))
    assert found == [Answer("beside", beside_tool=True)]


def test_each_result_is_answered_by_what_came_before_it() -> None:
    """Issue 9, 2: lines of the next turn can come in the same read."""
    found = answers(said("a", "m1"), said("b", "m1"), result("b"), said("c", "m2"), result("c"))
    assert found == [Answer("a\n\nb"), Answer("c")]


def test_what_claude_says_in_the_models_place_is_no_answer_of_it() -> None:
    found = answers(said("beside"), used(), said("API Error", id="x", model="<synthetic>"))
    assert found == []
    found = answers(said("y"), said("z", id="x", model="<synthetic>"), result(""))
    assert found == [Answer("y")]


def test_a_result_that_no_message_holds_is_told_as_it_is() -> None:
    assert answers(said("something else"), result("of a command")) == [Answer("of a command")]
    assert answers(result("alone")) == [Answer("alone")]


def test_text_that_looks_like_a_result_is_none() -> None:
    """The order of lines is decided by bytes, which a model can print as well."""
    odd = '{"type":"result"} "parent_tool_use_id":"x" {"type":"user"'
    assert answers(said(odd), result(odd)) == [Answer(odd)]


def test_what_is_kept_is_bounded() -> None:
    conversation = Conversation()
    conversation.begun = True
    conversation.take(batch_of(lines(*(said("x", id=str(n)) for n in range(2 * MOST_LINES)))))
    assert len(conversation.spoken._lines) == MOST_LINES
    big = "y" * (1 << 20)
    conversation.take(batch_of(lines(*(said(big, id=str(n)) for n in range(40)))))
    assert sum(map(len, conversation.spoken._lines)) <= 16 * (1 << 20)
    for n in range(MOST_ANSWERS + 1):
        conversation.take(batch_of(lines(result(str(n)))))
    assert len(conversation.spoken.answers) == MOST_ANSWERS
    assert conversation.spoken.answers[-1] == Answer(str(MOST_ANSWERS))


def test_the_last_text_of_a_turn_is_known_while_it_goes_on() -> None:
    conversation = Conversation()
    assert conversation.last_text == ""
    conversation.take(batch_of(lines(said("one"), used(), said("two", id="m2"))))
    assert conversation.last_text == "two"
