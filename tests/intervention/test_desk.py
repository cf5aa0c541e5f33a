"""What is put on a desk arrives once, in order, or is told as missed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.claude import hooks
from hive_subagent.claude.conversation import Message
from hive_subagent.claude.hooks import TEXT_LIMIT, Halt, Prompt, Say
from hive_subagent.intervention import desk as module
from hive_subagent.intervention.desk import Desk
from hive_subagent.intervention.notes import MARK, MOST_TEXT, MOST_WAITING, Note
from hive_subagent.models import Undelivered


def put(desk: Desk, kind: Any, text: str) -> Note:
    note = Note(kind=kind, text=text)
    desk.put(note)
    return note


def state(note: Note) -> str:
    return note.state


def read(desk: Desk, *, lost: bool = False) -> None:
    """What a hook was answered last goes in, and claude reads it or drops it."""
    message = Message("m")
    desk.sent(message)
    message.consumed, message.lost = not lost, lost


def test_a_step_hands_over_everything_that_waits_in_the_order_it_came() -> None:
    desk = Desk()
    first, second = put(desk, "info", "one"), put(desk, "redirect", "two")
    said = desk.at_step()
    assert isinstance(said, Say)
    assert said.text.index("one") < said.text.index(f"{MARK} two")
    assert (state(first), state(second)) == ("queued", "queued")
    read(desk)
    assert (state(first), state(second)) == ("delivered", "delivered")
    assert desk.at_step() is None


def test_what_claude_dropped_is_handed_over_again() -> None:
    desk = Desk()
    note = put(desk, "redirect", "one")
    said = desk.at_step()
    read(desk, lost=True)
    assert state(note) == "queued"
    assert desk.at_step() == said
    stop = put(desk, "stop", "enough")
    assert desk.at_step() == Halt("enough")
    read(desk, lost=True)
    assert desk.at_step() == Halt("enough")
    read(desk)
    assert state(stop) == "delivered"


def test_what_a_hook_may_not_hand_over_goes_in_as_a_message() -> None:
    """Of more than 10,000 UTF-16 units the model is shown 2 KB (2.1.197 and 2.1.332)."""
    desk = Desk()
    note = put(desk, "info", "\U0001f600" * (TEXT_LIMIT // 2))
    said = desk.at_step()
    assert said == Prompt(note.framed())
    message = Message("m")
    desk.sent(message)
    assert state(note) == "queued"
    assert desk.at_step() is None
    message.consumed = True
    assert state(note) == "delivered"


def test_of_very_much_that_waits_the_oldest_stands_before_a_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 100)
    desk = Desk()
    for number in range(4):
        put(desk, "redirect", f"{number} " + "x" * 45)
    for expected in ("01", "23"):
        said = desk.preface()
        assert [n for n in "0123" if f"{MARK} {n} " in said] == list(expected)
        read(desk)
    put(desk, "info", "y" * 101)
    assert desk.preface() == "[PARENT INFORMATION] " + "y" * 101


def test_a_step_and_a_cut_hand_over_all_that_may_wait() -> None:
    """A redirect that a tool was cut for is in the very message that follows the cut."""
    desk = Desk()
    while desk.has_room("info", 60_000):
        put(desk, "info", "x" * 60_000)
    put(desk, "redirect", "this way")
    for said in (desk.everything(), desk.at_step(), desk.at_end()):
        told = said.text if isinstance(said, Prompt) else str(said)
        assert told.count("[PARENT INFORMATION]") == 17
        assert f"{MARK} this way" in told


def test_what_may_wait_is_bounded_in_number_and_size_but_for_a_first_stop() -> None:
    desk = Desk()
    for number in range(MOST_WAITING):
        assert desk.has_room("redirect", 1)
        put(desk, "info", str(number))
    assert not desk.has_room("info", 1)
    assert desk.has_room("stop", 1)
    put(desk, "stop", "enough")
    assert not desk.has_room("stop", 1)

    desk = Desk(missed=[Undelivered(id="i-0", kind="info", text="é" * (MOST_TEXT // 2))])
    assert not desk.has_room("info", 1)
    desk.everything()
    read(desk)
    assert desk.has_room("info", MOST_TEXT)
    assert not desk.has_room("info", MOST_TEXT + 1)


def test_a_stop_comes_before_everything_else_and_is_handed_over_once() -> None:
    desk = Desk()
    info = put(desk, "info", "one")
    stop = put(desk, "stop", "enough")
    assert desk.at_step() == Halt("enough")
    read(desk)
    assert (state(stop), state(info)) == ("delivered", "queued")
    assert desk.halted
    assert [(left.kind, left.text) for left in desk.leave(stopped=True)] == [("info", "one")]
    assert [note.state for note in (stop, info)] == ["delivered", "missed"]


def test_information_alone_does_not_keep_an_agent_from_ending_its_turn() -> None:
    desk = Desk()
    put(desk, "info", "one")
    assert desk.at_end() is None
    assert desk.preface() == "[PARENT INFORMATION] one"


def test_a_redirect_makes_an_agent_go_on_and_takes_the_information_along() -> None:
    desk = Desk()
    put(desk, "info", "one")
    put(desk, "redirect", "two")
    said = desk.at_end()
    assert isinstance(said, Prompt)
    assert said.text.index("one") < said.text.index("two")


def test_a_preface_counts_once_its_message_was_consumed() -> None:
    desk = Desk(missed=[old()])
    note = put(desk, "info", "new")
    assert desk.preface() == "[PARENT INFORMATION] old\n\n[PARENT INFORMATION] new"
    message = Message("m")
    desk.sent(message)
    assert state(note) == "queued"
    message.consumed = True
    assert state(note) == "delivered"
    assert desk.leave() == ()


def test_a_preface_that_was_not_consumed_is_missed_with_what_was_missed_before() -> None:
    desk = Desk(missed=[old()])
    put(desk, "redirect", "new")
    desk.preface()
    desk.sent(Message("m"))
    assert [(left.text, left.message) for left in desk.leave()] == [("old", "m"), ("new", "m")]


def test_a_note_for_a_run_that_is_over_is_missed_at_once() -> None:
    desk = Desk()
    desk.leave()
    assert put(desk, "info", "late").state == "missed"


def test_a_stop_that_came_too_late_is_missed_unless_it_took_effect_all_the_same() -> None:
    for stopped in (False, True):
        desk = Desk()
        note = put(desk, "stop", "enough")
        missed = desk.leave(stopped=stopped)
        assert [left.text for left in missed] == ([] if stopped else ["enough"])
        assert note.state == ("delivered" if stopped else "missed")
        # a stop is for one run
        assert Desk(missed=missed).stop_reason is None


def test_a_stop_that_was_heard_is_told_of_unless_its_run_ends_by_it() -> None:
    for stopped in (False, True):
        written: list[list[str]] = []
        desk = Desk(keep=lambda kept: written.append([note.text for note in kept]))  # noqa: B023
        put(desk, "stop", "enough")
        assert desk.at_step() is not None
        read(desk)
        desk.hear({})
        # whoever dies now dies with it
        assert written[-1] == ["enough"]
        assert [] not in written
        assert [left.text for left in desk.leave(stopped=stopped)] == (
            [] if stopped else ["enough"]
        )


def test_nothing_is_handed_over_while_the_turn_is_being_cut() -> None:
    """claude drops what a hook answers once it was interrupted (2.1.197 and 2.1.332)."""
    desk = Desk()
    put(desk, "redirect", "first")
    desk.preface()
    message = Message("m", cuts=True)
    desk.sent(message)
    put(desk, "redirect", "second")
    put(desk, "stop", "third")
    assert desk.at_step() is None
    assert desk.at_end() is None
    message.consumed = True
    assert desk.at_step() == Halt("third")
    read(desk)
    assert isinstance(desk.at_step(), Say)
    read(desk)
    put(desk, "info", "fourth")
    desk.hush()
    assert desk.at_step() is None


def test_what_is_undelivered_is_written_down_whenever_it_changes() -> None:
    written: list[list[str]] = []
    desk = Desk(
        missed=[old()], keep=lambda undelivered: written.append([n.text for n in undelivered])
    )
    put(desk, "info", "new")
    desk.preface()
    message = Message("m")
    desk.sent(message)
    desk.hear({})
    message.consumed = True
    desk.hear({})
    desk.leave()
    assert written == [["old", "new"], ["old", "new"], []]


def old() -> Undelivered:
    return Undelivered(id="i-0", kind="info", text="old")


def hook(desk: Desk, event: str, **more: Any) -> dict[str, Any]:
    request = {"subtype": "hook_callback", "input": {"hook_event_name": event, **more}}
    steer = hooks.ask(request, desk)
    answer: dict[str, Any] = json.loads(hooks.reply("r", request, steer))["response"]
    return answer


def test_a_subagent_of_the_subagent_does_not_swallow_it() -> None:
    desk = Desk()
    put(desk, "redirect", "for the main agent")
    for event in ("PostToolBatch", "Stop"):
        assert hook(desk, event, agent_id="a1")["response"] == {}
    assert "for the main agent" in str(hook(desk, "PostToolBatch")["response"])


def test_a_request_that_is_no_hook_is_refused_in_words() -> None:
    request = {"subtype": "can_use_tool"}
    assert hooks.ask(request, Desk()) is None
    answer = json.loads(hooks.reply("r", request, None))["response"]
    assert answer["subtype"] == "error"
    assert "can_use_tool" in answer["error"]


@given(st.dictionaries(st.text(max_size=8), st.none() | st.text(max_size=5) | st.integers()))
def test_a_malformed_hook_call_takes_nothing_from_the_desk(given_: dict[str, Any]) -> None:
    desk = Desk()
    note = put(desk, "redirect", "x")
    given_.pop("hook_event_name", None)
    assert hooks.ask({"subtype": "hook_callback", "input": given_}, desk) is None
    assert state(note) == "queued"
