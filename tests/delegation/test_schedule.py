"""Any order of beginnings, ends, cancels and withdrawals leaves no child out and none twice."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from hive_subagent.delegation.schedule import Schedule
from hive_subagent.models.notices import ChildEnd
from hive_subagent.models.session import WaitPolicy

BAD = {ChildEnd.FAILED, ChildEnd.TIMED_OUT, ChildEnd.KILLED}
ENDS = st.sampled_from(sorted(ChildEnd))


class Delegation(RuleBasedStateMachine):
    """One delegation beside plain runs that take and give back the same places."""

    @initialize(
        count=st.integers(1, 32),
        policy=st.sampled_from(["all", "fail_fast"]),
        limit=st.integers(1, 8),
    )
    def delegate(self, count: int, policy: WaitPolicy, limit: int) -> None:
        self.names = [f"c{number}" for number in range(count)]
        self.schedule = Schedule(self.names, policy)
        self.policy = policy
        self.limit = limit
        self.others = 0
        self.begun: list[str] = []
        self.stopped: list[str] = []
        self.times_over = 0
        self.stop_called_for = False
        self._fill()

    def _fill(self) -> None:
        begun = self.schedule.begin(self.limit - self.others - len(self.schedule.running))
        assert not (begun and self.stop_called_for), "somebody began after the stop"
        self.begun += begun

    def _note(self, stopped: list[str]) -> None:
        assert set(stopped) <= self.schedule.running
        self.stopped += stopped
        if self.schedule.over:
            self.times_over += 1
        self._fill()

    @precondition(lambda self: self.schedule.running)
    @rule(data=st.data(), end=ENDS)
    def one_ends(self, data: st.DataObject, end: ChildEnd) -> None:
        name = data.draw(st.sampled_from(sorted(self.schedule.running)))
        self.stop_called_for |= self.policy == "fail_fast" and end in BAD
        self._note(self.schedule.end(name, end))

    @precondition(lambda self: self.schedule.queued)
    @rule(data=st.data())
    def one_is_withdrawn_from_the_queue(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.schedule.queued)))
        self._note(self.schedule.end(name, ChildEnd.CANCELLED))

    @precondition(lambda self: not self.schedule.over)
    @rule()
    def the_owner_cancels(self) -> None:
        self.stop_called_for = True
        self._note(self.schedule.cancel())

    @rule(end=ENDS, data=st.data())
    def an_end_is_told_again(self, end: ChildEnd, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from([*sorted(self.schedule.ended), "nobody"]))
        before = dict(self.schedule.ended)
        assert self.schedule.end(name, end) == []
        assert self.schedule.ended == before

    @precondition(lambda self: self.others + len(self.schedule.running) < self.limit)
    @rule()
    def another_run_takes_a_place(self) -> None:
        self.others += 1

    @precondition(lambda self: self.others)
    @rule()
    def another_run_gives_its_place_back(self) -> None:
        self.others -= 1
        self._fill()

    @invariant()
    def each_child_is_in_one_place(self) -> None:
        schedule = self.schedule
        places = [*schedule.queued, *schedule.running, *schedule.ended]
        assert sorted(places) == sorted(self.names)

    @invariant()
    def the_limit_holds_and_no_free_place_waits(self) -> None:
        used = self.others + len(self.schedule.running)
        assert used <= self.limit
        assert not self.schedule.queued or used == self.limit

    @invariant()
    def they_begin_once_and_in_order(self) -> None:
        assert len(set(self.begun)) == len(self.begun)
        assert self.begun == [name for name in self.names if name in self.begun]

    @invariant()
    def a_stop_reaches_each_once_and_empties_the_queue(self) -> None:
        assert len(set(self.stopped)) == len(self.stopped)
        assert self.schedule.cancelled == self.stop_called_for
        if self.stop_called_for:
            assert not self.schedule.queued
            assert self.schedule.running <= set(self.stopped)

    @invariant()
    def it_is_over_once(self) -> None:
        assert self.times_over == (1 if self.schedule.over else 0)

    def teardown(self) -> None:
        """Whatever came before, the ends of those who run end it all."""
        if not hasattr(self, "schedule"):
            return
        self.others = 0
        self._fill()
        while self.schedule.running:
            self._note(self.schedule.end(min(self.schedule.running), ChildEnd.FINISHED))
        assert self.schedule.over
        assert set(self.schedule.ended) == set(self.names)


test_every_order_of_events = Delegation.TestCase


def test_a_failure_stops_the_others_only_where_that_was_asked_for() -> None:
    patient = Schedule("abc", "all")
    patient.begin(2)
    assert patient.end("a", ChildEnd.FAILED) == []
    assert patient.begin(1) == ["c"]
    hasty = Schedule("abc", "fail_fast")
    hasty.begin(2)
    assert hasty.end("a", ChildEnd.TIMED_OUT) == ["b"]
    assert hasty.ended == {"a": ChildEnd.TIMED_OUT, "c": ChildEnd.CANCELLED}
    assert hasty.end("b", ChildEnd.FINISHED) == []
    assert hasty.ended["b"] is ChildEnd.FINISHED
