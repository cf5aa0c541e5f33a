"""What is put on a queue arrives once, in order, or is told as missed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batches import batch_of

from hive_subagent.claude import hooks
from hive_subagent.claude.hooks import TEXT_LIMIT, Halt, Prompt, Say
from hive_subagent.intervention import queue as module
from hive_subagent.intervention.intervention import MARK, MOST_TEXT, MOST_WAITING, Intervention
from hive_subagent.intervention.queue import InterventionQueue
from hive_subagent.models.session import Undelivered


def put(queue: InterventionQueue, kind: Any, text: str) -> Intervention:
    note = Intervention(kind=kind, text=text)
    queue.put(note)
    return note


def state(note: Intervention) -> str:
    return note.state


def read(said: Say | Prompt | Halt | None, *, lost: bool = False) -> None:
    """Claude reads what it was handed, or drops it."""
    assert said is not None
    said.message.consumed, said.message.lost = not lost, lost


def test_a_step_hands_over_everything_that_waits_in_the_order_it_came() -> None:
    queue = InterventionQueue()
    first, second = put(queue, "info", "one"), put(queue, "redirect", "two")
    said = queue.at_step("h")
    assert isinstance(said, Say)
    assert said.text.index("one") < said.text.index(f"{MARK} two")
    assert said.message.uuid == "h"
    assert (state(first), state(second)) == ("queued", "queued")
    read(said)
    assert (state(first), state(second)) == ("delivered", "delivered")
    assert queue.at_step("h") is None


def test_what_claude_dropped_is_handed_over_again() -> None:
    queue = InterventionQueue()
    note = put(queue, "redirect", "one")
    said = queue.at_step("h")
    read(said, lost=True)
    assert state(note) == "queued"
    again = queue.at_step("h")
    assert again == said
    read(again, lost=True)
    stop = put(queue, "stop", "enough")
    halt = queue.at_step("h")
    assert halt == Halt("enough")
    read(halt, lost=True)
    halt = queue.at_step("h")
    assert halt == Halt("enough")
    read(halt)
    assert state(stop) == "delivered"


def test_what_a_hook_may_not_hand_over_goes_in_as_a_message() -> None:
    """Of more than 10,000 UTF-16 units the model is shown 2 KB (2.1.197 and 2.1.332)."""
    queue = InterventionQueue()
    note = put(queue, "info", "\U0001f600" * (TEXT_LIMIT // 2))
    said = queue.at_step("h")
    assert said == Prompt(note.framed())
    assert said.message.uuid != "h"
    assert state(note) == "queued"
    assert queue.at_step("h") is None
    read(said)
    assert state(note) == "delivered"


def test_of_very_much_that_waits_the_oldest_stands_before_a_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 100)
    queue = InterventionQueue()
    for number in range(4):
        put(queue, "redirect", f"{number} " + "x" * 45)
    for expected in ("01", "23"):
        said = queue.before("go on")
        assert [n for n in "0123" if f"{MARK} {n} " in said.text] == list(expected)
        read(said)
    put(queue, "info", "y" * 101)
    said = queue.before("go on")
    assert said == Prompt("[PARENT INFORMATION] " + "y" * 101 + "\n\ngo on")
    read(said)
    assert queue.before("go on") == Prompt("go on")


def test_a_step_and_a_cut_hand_over_all_that_may_wait() -> None:
    """A redirect that a tool was cut for is in the very message that follows the cut."""
    queue = InterventionQueue()
    while queue.has_room("info", 60_000):
        put(queue, "info", "x" * 60_000)
    put(queue, "redirect", "this way")
    ways: list[Callable[[], object]] = [
        queue.everything,
        lambda: queue.at_step("h"),
        lambda: queue.at_end("h"),
    ]
    for hand_over in ways:
        said = hand_over()
        assert isinstance(said, Prompt)
        assert said.text.count("[PARENT INFORMATION]") == 17
        assert f"{MARK} this way" in said.text
        read(said, lost=True)


def test_what_may_wait_is_bounded_in_number_and_size_but_for_a_first_stop() -> None:
    queue = InterventionQueue()
    for number in range(MOST_WAITING):
        assert queue.has_room("redirect", 1)
        put(queue, "info", str(number))
    assert not queue.has_room("info", 1)
    assert queue.has_room("stop", 1)
    put(queue, "stop", "enough")
    assert not queue.has_room("stop", 1)

    queue = InterventionQueue(
        missed=[Undelivered(id="i-0", kind="info", text="é" * (MOST_TEXT // 2))]
    )
    assert not queue.has_room("info", 1)
    read(queue.everything())
    assert queue.has_room("info", MOST_TEXT)
    assert not queue.has_room("info", MOST_TEXT + 1)


def test_a_stop_comes_before_everything_else_and_is_handed_over_once() -> None:
    queue = InterventionQueue()
    info = put(queue, "info", "one")
    stop = put(queue, "stop", "enough")
    halt = queue.at_step("h")
    assert halt == Halt("enough")
    assert halt.message.uuid == "h"
    read(halt)
    assert (state(stop), state(info)) == ("delivered", "queued")
    assert queue.halted
    assert [(left.kind, left.text) for left in queue.leave(stopped=True)] == [("info", "one")]
    assert [note.state for note in (stop, info)] == ["delivered", "missed"]


def test_information_alone_does_not_keep_an_agent_from_ending_its_turn() -> None:
    queue = InterventionQueue()
    put(queue, "info", "one")
    assert queue.at_end("h") is None
    assert queue.before("go on") == Prompt("[PARENT INFORMATION] one\n\ngo on")


def test_a_redirect_makes_an_agent_go_on_and_takes_the_information_along() -> None:
    queue = InterventionQueue()
    put(queue, "info", "one")
    put(queue, "redirect", "two")
    said = queue.at_end("h")
    assert isinstance(said, Prompt)
    assert said.text.index("one") < said.text.index("two")


def test_what_stands_before_a_prompt_counts_once_its_message_was_consumed() -> None:
    queue = InterventionQueue(missed=[old()])
    note = put(queue, "info", "new")
    said = queue.before("go")
    assert said.text == "[PARENT INFORMATION] old\n\n[PARENT INFORMATION] new\n\ngo"
    assert state(note) == "queued"
    read(said)
    assert state(note) == "delivered"
    assert queue.leave() == ()


def test_what_is_handed_over_and_not_consumed_is_missed_whether_it_was_sent_or_not() -> None:
    """What is handed over is a value; forgetting it loses no text (issue 12, 4)."""
    queue = InterventionQueue(missed=[old()])
    put(queue, "redirect", "new")
    uuid = queue.before("go").message.uuid
    assert [(left.text, left.message) for left in queue.leave()] == [("old", uuid), ("new", uuid)]


def test_a_note_for_a_run_that_is_over_is_missed_at_once() -> None:
    queue = InterventionQueue()
    queue.leave()
    assert put(queue, "info", "late").state == "missed"


def test_a_stop_that_came_too_late_is_missed_unless_it_took_effect_all_the_same() -> None:
    for stopped in (False, True):
        queue = InterventionQueue()
        note = put(queue, "stop", "enough")
        missed = queue.leave(stopped=stopped)
        assert [left.text for left in missed] == ([] if stopped else ["enough"])
        assert note.state == ("delivered" if stopped else "missed")
        # a stop is for one run
        assert InterventionQueue(missed=missed).stop_reason is None


def test_a_stop_that_was_heard_is_told_of_unless_its_run_ends_by_it() -> None:
    for stopped in (False, True):
        written: list[list[str]] = []
        queue = InterventionQueue(keep=lambda kept: written.append([note.text for note in kept]))  # noqa: B023
        put(queue, "stop", "enough")
        read(queue.at_step("h"))
        queue.hear(batch_of(b"{}\n"))
        # whoever dies now dies with it
        assert written[-1] == ["enough"]
        assert [] not in written
        assert [left.text for left in queue.leave(stopped=stopped)] == (
            [] if stopped else ["enough"]
        )


def test_nothing_is_handed_over_while_the_turn_is_being_cut() -> None:
    """claude drops what a hook answers once it was interrupted (2.1.197 and 2.1.332)."""
    queue = InterventionQueue()
    put(queue, "redirect", "first")
    cut = queue.everything()
    put(queue, "redirect", "second")
    put(queue, "stop", "third")
    assert queue.at_step("h") is None
    assert queue.at_end("h") is None
    read(cut)
    halt = queue.at_step("h")
    assert halt == Halt("third")
    read(halt)
    said = queue.at_step("h")
    assert isinstance(said, Say)
    read(said)
    put(queue, "info", "fourth")
    queue.hush()
    assert queue.at_step("h") is None


def test_what_is_undelivered_is_written_down_whenever_it_changes() -> None:
    written: list[list[str]] = []
    queue = InterventionQueue(
        missed=[old()], keep=lambda undelivered: written.append([n.text for n in undelivered])
    )
    put(queue, "info", "new")
    said = queue.before("go")
    assert len(written) == 2, "what carries it is kept before it is sent"
    queue.hear(batch_of(b"{}\n"))
    read(said)
    queue.hear(batch_of(b"{}\n"))
    queue.leave()
    assert written == [["old", "new"], ["old", "new"], []]


def old() -> Undelivered:
    return Undelivered(id="i-0", kind="info", text="old")


def hook(queue: InterventionQueue, event: str, **more: Any) -> dict[str, Any]:
    request = {"subtype": "hook_callback", "input": {"hook_event_name": event, **more}}
    steer = hooks.ask(request, queue)
    answer: dict[str, Any] = json.loads(hooks.reply("r", request, steer))["response"]
    return answer


def test_a_subagent_of_the_subagent_does_not_swallow_it() -> None:
    queue = InterventionQueue()
    put(queue, "redirect", "for the main agent")
    for event in ("PostToolBatch", "Stop"):
        assert hook(queue, event, agent_id="a1")["response"] == {}
    assert "for the main agent" in str(hook(queue, "PostToolBatch")["response"])


def test_a_request_that_is_no_hook_is_refused_in_words() -> None:
    request = {"subtype": "can_use_tool"}
    assert hooks.ask(request, InterventionQueue()) is None
    answer = json.loads(hooks.reply("r", request, None))["response"]
    assert answer["subtype"] == "error"
    assert "can_use_tool" in answer["error"]


@given(st.dictionaries(st.text(max_size=8), st.none() | st.text(max_size=5) | st.integers()))
def test_a_malformed_hook_call_takes_nothing_from_the_desk(given_: dict[str, Any]) -> None:
    queue = InterventionQueue()
    note = put(queue, "redirect", "x")
    given_.pop("hook_event_name", None)
    assert hooks.ask({"subtype": "hook_callback", "input": given_}, queue) is None
    assert state(note) == "queued"
