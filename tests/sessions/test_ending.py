"""Each reason of an ending in the contract's words, in memory and on the disk."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from hive_subagent.models.notices import ChildEnd, NoticeKind
from hive_subagent.models.session import Cause, FailureCause, State, StopReason
from hive_subagent.sessions.ending import (
    Ending,
    Failed,
    GoalReached,
    Killed,
    NeedHelp,
    Reason,
    Stopped,
    TurnCap,
    TurnEnded,
    cause_of,
    child_end,
    ending_without_result,
    notice_kind,
    signal_of,
    state_of,
)
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.sessions.view import ended_view, previous_of

CUT = Killed(cause=Cause.INTERRUPT, signal="SIGTERM")

KILLED = {
    Cause.OOM: ChildEnd.KILLED,
    Cause.SIGNAL: ChildEnd.KILLED,
    Cause.INTERRUPT: ChildEnd.KILLED,
    Cause.TIMEOUT: ChildEnd.TIMED_OUT,
    Cause.CANCELLED: ChildEnd.CANCELLED,
    Cause.DAEMON_STOP: ChildEnd.KILLED,
    None: ChildEnd.KILLED,
}

Row = tuple[Reason, State, NoticeKind, ChildEnd, Cause | FailureCause | None]

ROWS: list[Row] = [
    (TurnEnded(), State.IDLE, "finished", ChildEnd.FINISHED, None),
    (GoalReached(), State.IDLE, "goal_reached", ChildEnd.FINISHED, None),
    (NeedHelp(), State.NEED_HELP, "need_help", ChildEnd.NEED_HELP, None),
    (TurnCap(), State.IDLE, "turn_cap", ChildEnd.FINISHED, None),
    (Stopped(), State.IDLE, "stopped", ChildEnd.STOPPED, None),
    (Stopped(cut=CUT), State.KILLED, "stopped", ChildEnd.STOPPED, Cause.INTERRUPT),
    *(
        (Killed(cause=cause, signal="SIGKILL"), State.KILLED, "killed", end, cause)
        for cause, end in KILLED.items()
    ),
    *(
        (Failed(cause=cause), State.FAILED, "failed", ChildEnd.FAILED, cause)
        for cause in FailureCause
    ),
]
each = pytest.mark.parametrize("row", ROWS, ids=repr)


@each
def test_a_reason_has_its_contract_words(row: Row) -> None:
    """Issue 12, 1."""
    reason, state, kind, end, cause = row
    found = (state_of(reason), notice_kind(reason), child_end(reason), cause_of(reason))
    assert found == (state, kind, end, cause)


def test_the_table_has_every_word_of_the_contract() -> None:
    """Issue 12, 1: nothing is left out above."""
    assert {row[0].tag for row in ROWS} == set(StopReason)
    assert {row[1] for row in ROWS} == set(State) - {State.QUEUED, State.STARTING, State.RUNNING}
    assert {row[2] for row in ROWS} == set(get_args(NoticeKind)) - {"delegation"}
    assert {row[3] for row in ROWS} == set(ChildEnd)
    assert {row[4] for row in ROWS} == {*Cause, *FailureCause, None}


def test_a_signal_is_reported_of_a_cut_turn_alone() -> None:
    """Issue 12, 1."""
    assert signal_of(Killed(cause=None, signal="SIGKILL")) == "SIGKILL"
    assert signal_of(Stopped(cut=CUT)) == "SIGTERM"
    assert [signal_of(reason) for reason in (Stopped(), TurnEnded(), Failed())] == [None] * 3


@each
def test_an_ending_is_kept_in_words_and_read_again(row: Row) -> None:
    """Issue 12, 1: a daemon of an earlier version reads the record, too."""
    reason, state, _, _, cause = row
    ending = Ending(run_id="r", reason=reason, turn=3, max_turns=5, at="2026-12-01T00:00:00.000Z")
    record = SessionRecord(name="a", session_id="", dir="/", ours=True, ending=ending)
    kept = record.model_dump(mode="json")["ending"]
    assert (kept["state"], kept["stop_reason"], kept["cause"]) == (state, reason.tag, cause)
    assert (kept["signal"], kept["turn"]) == (signal_of(reason), 3)
    assert "reason" not in kept
    assert "left_session" not in kept
    assert SessionRecord.model_validate_json(record.model_dump_json()) == record


OLD: dict[str, Any] = {
    "cause": "timeout",
    "signal": "SIGTERM",
    "message": None,
    "turn": 2,
    "max_turns": 5,
    "cost_usd": 0.25,
    "run_id": "8f14e45f-ceea-4a7a-9c0b-2f5d8b1a6c3d",
    "state": "killed",
    "stop_reason": "killed",
    "cost_total": 0.5,
    "result_cut": False,
    "at": "2026-11-01T00:00:00.000Z",
}
"""As version 0.1.0 wrote it; figures that were null are left out here."""


def test_an_ending_of_an_earlier_version_is_read() -> None:
    """Issue 12, 1."""
    ending = Ending.model_validate(OLD)
    assert ending.reason == Killed(cause=Cause.TIMEOUT, signal="SIGTERM")
    assert (ending.turn, ending.left_session, ending.cost_total) == (2, True, 0.5)
    stopped = Ending.model_validate(OLD | {"stop_reason": "stopped", "cause": "interrupt"})
    assert stopped.reason == Stopped(cut=CUT)
    failed = Ending.model_validate(
        OLD | {"stop_reason": "failed", "state": "failed", "cause": None}
    )
    assert failed.reason == Failed(cause=FailureCause.OTHER)
    assert not Ending.model_validate(OLD | {"turn": 0}).left_session


@pytest.mark.parametrize(
    "change",
    [{"state": "gone"}, {"stop_reason": "gone"}, {"cause": "gone"}, {"cause": "auth"}],
    ids=repr,
)
def test_an_ending_in_unknown_words_is_refused(change: dict[str, Any]) -> None:
    """Issue 12, 1."""
    with pytest.raises(ValueError, match="Ending"):
        Ending.model_validate(OLD | change)


def test_a_session_that_was_not_left_is_shown_by_turn_0() -> None:
    """Issue 12, 1: the contract's word for `left_session`."""
    ending = ending_without_result(Failed(), message="why", left_session=False)
    record = SessionRecord(name="a", session_id="", dir="/", ours=True, ending=ending)
    view = ended_view(record)
    assert (view.turn, view.left_session, view.message) == (0, False, "why")
    assert (view.state, view.stop_reason, view.cause) == ("failed", "failed", "other")
    again = SessionRecord.model_validate_json(record.model_dump_json())
    assert again.ending is not None
    assert not again.ending.left_session
    assert again.model_dump(mode="json")["ending"]["turn"] == 0
    assert ended_view(again) == view


def test_a_run_that_nobody_saw_end_has_one_shape() -> None:
    """Issue 12, 1: the factory of crash and failure endings."""
    ending = ending_without_result(
        Killed(cause=Cause.DAEMON_STOP), run_id="r", max_turns=4, cost_total=1.5
    )
    assert (ending.run_id, ending.max_turns, ending.cost_total) == ("r", 4, 1.5)
    assert (ending.turn, ending.left_session, ending.cost_usd) == (1, True, None)
    record = SessionRecord(name="a", session_id="", dir="/", ours=True, ending=ending)
    previous = previous_of(record)
    assert previous is not None
    assert (previous.state, previous.cause, previous.signal) == ("killed", "daemon_stop", None)
