"""The ledger of the chaos harness finds what is planted in it, and only that."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from chaos.ledger import Call, judge
from chaos.plans import ERROR, FAILED, FINISHED, GOAL, INTERRUPTED, STOPPED, Plan, killed_by


def plan(*endings: str, **more: Any) -> Plan:
    return Plan("planted", ({"text": "x"},), frozenset(endings), **more)  # type: ignore[arg-type]


def call(number: int = 0, *endings: str, **more: Any) -> Call:
    """A `start` that was answered well at second 10 * number, unless `more` says otherwise."""
    given: dict[str, Any] = {
        "name": f"n{number}",
        "plan": plan(*endings),
        "sent": 10.0 * number,
        "answered": 10.0 * number + 1,
        "answer": "well",
        "session_id": f"s{number}",
    }
    return Call(number=number, tool="start", **(given | more))


def notice(session: int = 0, kind: str = "finished", **more: Any) -> dict[str, Any]:
    at = datetime.fromtimestamp(more.pop("at", 10.0 * session + 5), UTC).isoformat()
    given = {"session_id": f"s{session}", "name": f"n{session}", "text": "done", "at": at}
    return {"kind": kind, **given, **more}


def view(reason: str, cause: str | None = None, signal: str | None = None) -> dict[str, Any]:
    return {"stop_reason": reason, "cause": cause, "signal": signal, "turn": 1}


def found(*what: Any) -> list[str]:
    calls = [each for each in what if isinstance(each, Call)]
    return [wrong.what for wrong in judge(calls, [each for each in what if isinstance(each, dict)])]


def test_a_run_that_ended_as_its_script_says_is_no_finding() -> None:
    ended = call(0, FINISHED, view=view("turn_ended"))
    assert found(ended, notice()) == []


def test_finished_for_a_run_whose_script_never_completes_is_found() -> None:
    assert "ended as finished" in found(call(0, FAILED), notice())[0]
    assert "never ends" in found(call(0), notice())[0]


def test_killed_for_an_untouched_run_that_completes_is_found() -> None:
    assert "ended as killed" in found(call(0, FINISHED), notice(kind="killed"))[0]


def test_killed_is_right_for_a_run_that_was_interrupted_or_whose_daemon_died() -> None:
    interrupted = call(0, interrupted=True, view=view("killed", "interrupt", "SIGKILL"))
    orphaned = call(1, daemon_died=True, view=view("killed", "daemon_stop"))
    assert found(interrupted, notice(kind="killed"), orphaned, notice(1, "killed")) == []


@pytest.mark.parametrize(
    ("cause", "signal"), [("interrupt", None), ("signal", "SIGTERM"), ("daemon_stop", None)]
)
def test_a_death_told_with_another_cause_or_signal_is_found(cause: str, signal: str | None) -> None:
    died = call(0, killed_by("SIGKILL"), view=view("killed", cause, signal))
    assert "ended as 'killed" in found(died, notice(kind="killed"))[0]


def test_a_status_that_differs_from_the_notice_is_found() -> None:
    told_twice = call(0, FINISHED, FAILED, view=view("failed"))
    assert "status says failed, the notice finished" in found(told_twice, notice())


def test_a_notice_that_never_came_is_found() -> None:
    assert found(call(0, FINISHED)) == ["owed 1 notices, 0 came"]


def test_a_second_notice_is_found() -> None:
    assert "owed 1 notices, 2 came" in found(call(0, FINISHED), notice(), notice(at=6.0))


def test_a_notice_for_a_call_answered_with_an_error_is_found() -> None:
    refused = call(0, ERROR, answer="error", error="died before its first event", session_id="")
    assert found(refused) == []
    assert "nobody is owed" in found(refused, notice())[0]


def test_an_error_for_a_run_that_should_have_begun_is_found() -> None:
    refused = call(0, FINISHED, answer="error", error="no", session_id="")
    assert found(refused) == ["answered with an error"]


def test_a_call_answered_well_that_had_to_be_an_error_is_found() -> None:
    assert "ended as failed" in found(call(0, ERROR), notice(kind="failed"))[0]


def test_a_call_that_the_daemon_took_with_it_may_have_left_a_notice_or_not() -> None:
    lost = call(0, FINISHED, answer="lost", answered=None, session_id="", daemon_died=True)
    assert found(lost) == []
    assert found(lost, notice(kind="killed")) == []
    assert "owed 1 notices, 2 came" in found(lost, notice(kind="killed"), notice(at=6.0))


def test_a_lost_run_told_as_something_its_script_cannot_do_is_found() -> None:
    lost = call(0, FAILED, answer="lost", answered=None, session_id="", daemon_died=True)
    assert "ended as finished" in found(lost, notice())[0]


def test_the_runs_of_one_session_are_told_in_their_order() -> None:
    first, second = call(0, FINISHED), call(1, FAILED, name="n0", session_id="s0")
    told = notice(kind="finished"), notice(0, "failed", at=15.0)
    assert found(first, second, *told) == []
    assert len(found(second, call(0, FAILED), *told)) == 1


def test_two_runs_of_one_name_at_once_are_found() -> None:
    second = call(1, FINISHED, name="n0")
    assert (
        "before call 0 of its name ended"
        in found(call(0, FINISHED), second, notice(at=12.0), notice(1, name="n0", at=13.0))[0]
    )


def test_a_name_is_refused_only_where_others_wanted_it_and_one_got_it() -> None:
    busy = {"answer": "error", "error": "subagent is running already", "session_id": ""}
    assert "which nobody else used" in found(call(0, FINISHED, **busy))[0]
    winner, loser = call(0, FINISHED, burst=1), call(1, FINISHED, burst=1, **busy)
    assert found(winner, loser, notice()) == []
    assert "every call of a burst" in found(loser)[0]


def test_a_process_left_behind_is_found() -> None:
    assert "left alive" in found(call(0, FINISHED, left=["sleep 3600"]), notice())[0]


def test_somebody_elses_last_text_is_found() -> None:
    spoke = call(0, FINISHED)
    spoke.plan = plan(FINISHED, says="done 17")
    assert "without its last text" in found(spoke, notice(text="done 18"))[0]
    assert found(spoke, notice(text="Its last answer: done 17")) == []


def test_an_ending_in_another_turn_than_the_scripts_is_found() -> None:
    reached = call(0, GOAL, view=view("goal_reached"))
    reached.plan = plan(GOAL, turn=3)
    assert "ended in turn 1" in found(reached, notice(kind="goal_reached"))[0]


def test_an_interrupt_excuses_no_other_death() -> None:
    endings = {INTERRUPTED, STOPPED}
    interrupted = call(0, interrupted=True, view=view("killed", "signal", "SIGKILL"))
    wrong = found(interrupted, notice(kind="killed"))
    assert len(wrong) == 1
    assert not endings & {wrong[0]}
