"""The judgement over random runs finds what it is there for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from e2e.random_judge import Seen, Served, answers, judge
from e2e.random_plans import Plan
from e2e.script import Say, Use, bash, say

BACKGROUND = Plan("background", "")
GOAL = Plan("goal", "", goal=True, max_turns=2)
REACHED = Served(Say(text="w1x2w", tools=(Use("mcp__signal__goal_reached"),)))


def seen(*served: Served, result: str, reason: str = "turn_ended", **further: Any) -> Seen:
    """A run with one notice that says the same as its session and its file."""
    kind = {"turn_ended": "finished"}.get(reason, reason)
    state = {"killed": "killed", "failed": "failed"}.get(reason, "idle")
    session = {"stop_reason": reason, "state": state, "result": result, "turn": 1} | further
    return Seen(served, session, [{"kind": kind, "text": result}], {}, whole=result)


TWO = (Served(bash("true")), Served(say("w1x1w")), Served(say("w1x2w")))
RIGHT = seen(*TWO, result="w1x1w\n\nw1x2w")


def test_a_run_that_told_all_its_answers_is_right() -> None:
    assert judge(BACKGROUND, RIGHT) == []


@pytest.mark.parametrize("result", ["w1x1w", "w1x2w", "w1x2w w1x1w", "", "w1x1w w1x2w w1x3w"])
def test_an_answer_that_is_missing_replaced_or_out_of_order_is_found(result: str) -> None:
    (wrong,) = judge(BACKGROUND, seen(*TWO, result=result))
    assert wrong.startswith("LOST ANSWER")


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"whole": "w1x1w"}, "LOST ANSWER"),
        ({"notices": [{"kind": "finished", "text": "w1x2w"}]}, "LOST ANSWER"),
        ({"notices": [*RIGHT.notices, *RIGHT.notices]}, "NOTICES"),
        ({"notices": []}, "NOTICES"),
        ({"left": {7: "sleep"}}, "ORPHANS"),
        ({"session": {**RIGHT.session, "stop_reason": "killed"}}, "WRONG ENDING"),
        ({"session": {**RIGHT.session, "state": "failed"}}, "WRONG ENDING"),
    ],
)
def test_what_differs_between_session_file_and_notices_is_found(
    changed: dict[str, Any], found: str
) -> None:
    wrongs = judge(BACKGROUND, replace(RIGHT, **changed))
    assert wrongs
    assert found in {wrong.partition(":")[0] for wrong in wrongs}


def test_a_goal_ends_with_the_signal_that_was_given_and_in_its_turn() -> None:
    served = (REACHED, Served(say("w1x3w")))
    assert judge(GOAL, seen(*served, result="w1x3w", reason="goal_reached")) == []
    late = seen(*served, result="w1x3w", reason="goal_reached", turn=2)
    assert judge(GOAL, late)
    assert judge(GOAL, seen(*served, result="w1x3w", reason="turn_cap", turn=2))


def test_background_work_that_was_not_waited_for_is_found() -> None:
    launch = Served(bash("sleep 1; touch /x/done-1", run_in_background=True))
    run = seen(launch, *TWO, result="w1x1w\n\nw1x2w")
    (wrong,) = judge(BACKGROUND, run)
    assert "not waited for" in wrong
    assert judge(BACKGROUND, replace(run, done=frozenset({"done-1"}))) == []
    assert judge(replace(BACKGROUND, act="interrupt-any"), run) == []
    ended = [{"kind": "shell", "description": "scripted", "age_s": 1.0}]
    assert judge(BACKGROUND, seen(*TWO, result=run.whole, ended_background=ended))


def test_a_turn_without_a_word_is_answered_by_what_it_said_last() -> None:
    beside = Served(Say(text="w1x1w", tools=(Use("Bash"),)))
    assert answers([beside, Served(say("")), Served(say(""))]) == [["w1x1w"]]


def test_a_message_that_a_hook_sent_back_is_no_answer() -> None:
    sent_back = Served(say("w1x2w"), sent_back=True)
    assert answers([Served(say("w1x1w")), sent_back]) == [["w1x2w"]]


def test_an_interrupted_run_keeps_what_was_said_before() -> None:
    plan = replace(BACKGROUND, act="interrupt-held")
    right = replace(
        seen(*TWO, result="w1x1w", reason="killed", cause="interrupt", last_text="w1x2w"),
        before_interrupt=3,
    )
    assert judge(plan, right) == []
    lost = seen(*TWO, result="w1x2w", reason="killed", cause="interrupt", last_text="w1x1w")
    (wrong,) = judge(plan, replace(lost, before_interrupt=3))
    assert wrong.startswith("LOST ANSWER")
