"""Background tasks: more than one result in a run, and what the exit waits for."""

from __future__ import annotations

import pytest

from stub.process import BOTH_WAYS, Home, children_of, directive

VERSIONS = ["2.1.197", "2.1.332"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_task_that_ends_after_the_result_opens_another_turn(home: Home, version: str) -> None:
    go = home.root / "go"
    command = f"while [ ! -e {go} ]; do perl -e 'select undef,undef,undef,0.01'; done"
    claude = home.say(
        directive(
            {"bash": command, "background": True},
            {"text": "turn end"},
            after_background=[{"text": "told"}],
        ),
        version=version,
    )
    assert claude.result()["result"] == "turn end"
    go.touch()
    claude.until_type("system", "init")
    second = claude.result()
    assert second["result"] == "told"
    assert second["origin"]["kind"] == "task-notification"
    assert claude.rc() == 0


def test_a_task_that_outlasts_the_grace_is_killed(home: Home) -> None:
    script = directive(
        {"bash": "perl -e 'sleep 300'; true", "background": True},
        {"text": "end"},
        background_grace=0.05,
    )
    claude = home.say(script)
    lines = claude.rest()
    assert claude.rc() == 0
    assert [line["type"] for line in lines].count("result") == 1
    notices = [line for line in lines if line.get("subtype") == "task_notification"]
    assert [line["status"] for line in notices] == ["stopped"]
    assert children_of(str(home.config)) == []


def test_an_idle_session_wakes_by_itself_when_its_task_ends(home: Home) -> None:
    go = home.root / "go"
    command = f"while [ ! -e {go} ]; do perl -e 'select undef,undef,undef,0.01'; done"
    claude = home.start(*BOTH_WAYS)
    claude.user(directive({"bash": command, "background": True}, {"text": "end"}))
    assert claude.result()["result"] == "end"
    go.touch()
    assert claude.result()["result"] == "done"
    claude.user("next")
    assert claude.result()["result"] == "ok: next"
    claude.close_stdin()
    assert claude.rc() == 0


def test_a_long_foreground_bash_is_announced_but_is_no_background_task(home: Home) -> None:
    claude = home.say(directive({"bash": "sleep 3.1"}, {"text": "end"}))
    claude.result()
    started = [line for line in claude.seen if line.get("subtype") == "task_started"]
    assert [line["is_backgrounded"] for line in started] == [False]
    ended = [line for line in claude.seen if line.get("subtype") == "task_notification"]
    assert [line["status"] for line in ended] == ["completed"]


@pytest.mark.parametrize(("version", "refused"), [("2.1.197", False), ("2.1.332", True)])
def test_a_long_standalone_sleep_is_refused_since_332(
    home: Home, version: str, refused: bool
) -> None:
    claude = home.start(*BOTH_WAYS, version=version)
    claude.user(directive({"bash": "sleep 77"}, {"text": "end"}))
    claude.until_type("assistant")
    claude.control("r1", "interrupt") if not refused else None
    result = claude.result()
    told = next(line for line in claude.seen if line["type"] == "user")
    block = told["message"]["content"][0]
    assert block["is_error"]
    assert ("Blocked: standalone sleep 77" in block["content"]) == refused
    assert result["is_error"] != refused
