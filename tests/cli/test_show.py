"""What is drawn of sessions, notices and checks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.cli import show


def session(name: str, state: str = "running", **more: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "stop_reason": None, **more}


def test_those_that_need_somebody_come_first_then_those_that_run() -> None:
    """Issue 13, 2."""
    ended = session("old", "idle", stop_reason="turn_ended")
    asks = session("asks", "need_help", stop_reason="need_help", message="which one?")
    rows = show.rows([ended, session("new"), asks])
    assert [row[0] for row in rows] == ["asks", "new", "old"]
    assert rows[0][4] == "which one?"


def test_children_stand_below_their_delegation() -> None:
    """Issue 13, 2."""
    children = [session("scout-1", "idle", delegation="d:1"), session("scout-2", delegation="d:1")]
    rows = show.rows([*children, session("alone")])
    assert [row[0] for row in rows] == ["d:1", "├─ scout-2", "└─ scout-1", "alone"]
    assert rows[0][1] == "1 of 2 over"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(None, ""), (0.4, "0s"), (59.9, "59s"), (61, "1m01s"), (3_600, "1h00m"), (90_061, "25h01m")],
)
def test_a_time_is_shown_as_people_read_it(seconds: float | None, expected: str) -> None:
    assert show.age(seconds) == expected


def test_a_running_session_shows_its_tool_and_its_background_work() -> None:
    tool = {"name": "Bash", "age_s": 61, "input": "make test"}
    doing = show.doing(session("x", open_tool=tool, background=[{}, {}]))
    assert doing == "Bash 1m01s make test, 2 in the background"


WORDS = st.text(max_size=200) | st.sampled_from(["\x1b[2J", "a\r\nb", "\x9b1m", "[bold]x[/bold]"])


@given(name=WORDS, message=WORDS)
def test_no_words_of_a_subagent_act_on_the_terminal(name: str, message: str) -> None:
    """Issue 13: every word of a child is text."""
    shown = show.plain([session(name, "failed", stop_reason="failed", message=message)])
    head, line = shown.split("\n")
    assert head.startswith("NAME")
    assert line.isprintable()


def test_a_check_that_is_not_well_says_what_to_do() -> None:
    wrong = {"check": "claude", "ok": False, "detail": "not found", "fix": "install it"}
    assert show.check(wrong) == "FAIL claude: not found\n     install it"
    assert show.check({"check": "disk", "ok": True, "detail": "9 GB"}) == "ok   disk: 9 GB"


def test_a_notice_is_one_line() -> None:
    given_ = {"at": "2026-01-01", "kind": "failed", "name": "lint", "text": "one\ntwo\x1b[m"}
    assert show.notice(given_) == "2026-01-01 failed lint: one two\\x1b[m"
