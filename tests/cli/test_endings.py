"""Exit codes by how runs ended."""

from __future__ import annotations

import pytest

from hive_subagent.cli.endings import CODES, exit_code, in_words, worst
from hive_subagent.models.session import StopReason


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("turn_ended", 0),
        ("goal_reached", 0),
        ("need_help", 10),
        ("turn_cap", 11),
        ("stopped", 12),
        ("killed", 13),
        ("failed", 14),
        ("lost", 15),
        ("budget", 16),
    ],
)
def test_each_ending_has_the_code_of_the_contract(reason: str, code: int) -> None:
    """Issue 13, 2."""
    assert exit_code({"state": "idle", "stop_reason": reason}) == code


def test_every_stop_reason_of_the_daemon_has_a_code() -> None:
    assert {reason.value for reason in StopReason} <= set(CODES)


@pytest.mark.parametrize("state", ["queued", "starting", "running"])
def test_a_run_that_goes_on_is_no_success(state: str) -> None:
    assert exit_code({"state": state, "stop_reason": None}) == 1


def test_an_ending_that_is_not_known_is_no_success() -> None:
    assert exit_code({"state": "idle", "stop_reason": None}) == 14


def test_of_several_the_highest_code_counts() -> None:
    ended = [{"state": "idle", "stop_reason": reason} for reason in ("killed", "turn_ended")]
    assert worst(ended) == 13
    assert worst([]) == 0


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        ({"state": "running"}, "running"),
        ({"state": "idle", "stop_reason": "turn_ended"}, "finished"),
        (
            {"state": "killed", "stop_reason": "killed", "cause": "daemon_stop"},
            "killed (daemon stop)",
        ),
        ({"state": "idle", "stop_reason": None}, "idle"),
    ],
)
def test_how_a_session_stands_in_words(session: dict[str, str], expected: str) -> None:
    assert in_words(session) == expected
