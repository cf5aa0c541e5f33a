"""What is put on a desk arrives once, in order, or is told as missed."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hive_subagent.claude.conversation import Message
from hive_subagent.claude.hooks import Halt, Say, reply
from hive_subagent.intervention.desk import Desk
from hive_subagent.intervention.notes import MARK, Note


def put(desk: Desk, kind: Any, text: str) -> Note:
    note = Note(kind=kind, text=text)
    desk.put(note)
    return note


def test_a_step_hands_over_everything_that_waits_in_the_order_it_came() -> None:
    desk = Desk()
    first, second = put(desk, "info", "one"), put(desk, "redirect", "two")
    said = desk.at_step()
    assert isinstance(said, Say)
    assert said.text.index("one") < said.text.index(f"{MARK} two")
    assert (first.state, second.state) == ("delivered", "delivered")
    assert desk.at_step() is None


def test_a_stop_comes_before_everything_else_and_is_handed_over_once() -> None:
    desk = Desk()
    info = put(desk, "info", "one")
    stop = put(desk, "stop", "enough")
    assert desk.at_step() == Halt("enough")
    assert (stop.state, info.state) == ("delivered", "queued")
    assert desk.halted
    left = desk.leave()
    assert [note.state for note in (stop, info)] == ["delivered", "missed"]
    assert len(left.told) == 1
    assert left.kept == ("[PARENT INFORMATION] one",)


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
    assert isinstance(said, Say)
    assert said.text.index("one") < said.text.index("two")


def test_a_preface_counts_once_its_message_was_consumed() -> None:
    desk = Desk(kept=["[PARENT INFORMATION] old"])
    note = put(desk, "info", "new")
    assert desk.preface() == "[PARENT INFORMATION] old\n\n[PARENT INFORMATION] new"
    message = Message("m")
    desk.prefaced(message)
    assert not note.arrived
    message.consumed = True
    assert [note.state] == ["delivered"]
    assert desk.leave().kept == ()


def test_a_preface_that_was_not_consumed_is_kept_with_what_was_kept_before() -> None:
    desk = Desk(kept=["[PARENT INFORMATION] old"])
    put(desk, "redirect", "new")
    desk.preface()
    desk.prefaced(Message("m"))
    old, new = desk.leave().kept
    assert old == "[PARENT INFORMATION] old"
    assert new.startswith(f"{MARK} new")


def test_a_note_for_a_run_that_is_over_is_missed_at_once() -> None:
    desk = Desk()
    desk.leave()
    assert put(desk, "info", "late").state == "missed"


def test_a_stop_that_came_too_late_is_told_and_not_kept() -> None:
    desk = Desk()
    put(desk, "stop", "enough")
    left = desk.leave()
    assert left.kept == ()
    assert "enough" in left.told[0]


def hook(desk: Desk, event: str, **more: Any) -> dict[str, Any]:
    request = {"subtype": "hook_callback", "input": {"hook_event_name": event, **more}}
    answer: dict[str, Any] = json.loads(reply("r", request, desk))["response"]
    return answer


def test_a_subagent_of_the_subagent_does_not_swallow_it() -> None:
    desk = Desk()
    put(desk, "redirect", "for the main agent")
    for event in ("PostToolBatch", "Stop"):
        assert hook(desk, event, agent_id="a1")["response"] == {}
    assert "for the main agent" in str(hook(desk, "PostToolBatch")["response"])


def test_a_request_that_is_no_hook_is_refused_in_words() -> None:
    answer = json.loads(reply("r", {"subtype": "can_use_tool"}, Desk()))["response"]
    assert answer["subtype"] == "error"
    assert "can_use_tool" in answer["error"]


@given(st.dictionaries(st.text(max_size=8), st.none() | st.text(max_size=5) | st.integers()))
def test_a_malformed_hook_call_takes_nothing_from_the_desk(given_: dict[str, Any]) -> None:
    desk = Desk()
    note = put(desk, "redirect", "x")
    given_.pop("hook_event_name", None)
    reply("r", {"subtype": "hook_callback", "input": given_}, desk)
    assert note.state == "queued"


class OneRunAfterAnother(RuleBasedStateMachine):
    """A session of several runs: every text arrives exactly once, in order, or is still kept."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk()
        self.put: list[str] = []
        self.arrived: list[str] = []
        self.kept: tuple[str, ...] = ()
        self.sent: list[tuple[Message, str]] = []

    def took(self, text: str) -> None:
        self.arrived += [word for word in text.split() if word.startswith("note-")]

    @rule(kind=st.sampled_from(["info", "redirect"]))
    def owner_speaks(self, kind: Any) -> None:
        text = f"note-{len(self.put)}"
        self.put.append(text)
        put(self.desk, kind, text)

    @rule()
    def step(self) -> None:
        if isinstance(said := self.desk.at_step(), Say):
            self.took(said.text)

    @rule()
    def end_of_a_turn(self) -> None:
        if isinstance(said := self.desk.at_end(), Say):
            self.took(said.text)

    @rule(consumed=st.booleans())
    def next_prompt(self, consumed: bool) -> None:
        text = self.desk.preface()
        message = Message("m")
        self.desk.prefaced(message)
        if consumed:
            message.consumed = True
            self.took(text)
        else:
            # claude died with it unread: no later step of this run can come
            self.next_run()

    @rule()
    def next_run(self) -> None:
        self.kept = self.desk.leave().kept
        self.desk = Desk(kept=self.kept)

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        waiting = [note.text for note in self.desk._waiting()]
        kept = [
            word
            for text in (self.desk._kept if self.desk._kept_in is None else [])
            for word in text.split()
            if word.startswith("note-")
        ]
        assert sorted(self.arrived + kept + waiting) == sorted(self.put)
        assert len(set(self.arrived)) == len(self.arrived)


TestOneRunAfterAnother = OneRunAfterAnother.TestCase
