"""Background tasks: more than one result in a run, and what the exit waits for."""

from __future__ import annotations

import pytest

from stub.process import BOTH_WAYS, Home, children_of, directive, eventually

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


@pytest.mark.parametrize(("version", "results"), [("2.1.197", 1), ("2.1.332", 2)])
def test_a_task_that_outlasts_the_grace_is_killed(home: Home, version: str, results: int) -> None:
    script = directive(
        {"bash": "perl -e 'sleep 300'; true", "background": True},
        {"text": "end"},
        background_grace=0.05,
    )
    claude = home.say(script, version=version)
    lines = claude.rest()
    assert claude.rc() == 0
    assert [line["type"] for line in lines].count("result") == results
    notices = [line for line in lines if line.get("subtype") == "task_notification"]
    assert [line["status"] for line in notices] == ["stopped"]
    eventually(lambda: not children_of(str(home.config)))


@pytest.mark.parametrize(("version", "results"), [("2.1.197", 1), ("2.1.332", 2)])
def test_197_gives_a_task_five_seconds_and_332_gives_it_more(
    home: Home, version: str, results: int
) -> None:
    script = directive({"bash": "perl -e 'sleep 6'; true", "background": True}, {"text": "end"})
    lines = home.say(script, version=version).rest()
    assert [line["type"] for line in lines].count("result") == results


def test_an_interrupted_turn_does_not_hold_the_exit_for_its_tasks(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    background = {"bash": "perl -e 'sleep 300'; true", "background": True}
    claude.user(directive(background, {"hang": True}))
    claude.until(lambda line: line["type"] == "user")
    claude.control("r1", "interrupt")
    claude.result()
    claude.close_stdin()
    assert claude.rc() == 1
    eventually(lambda: not children_of(str(home.config)))


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


@pytest.mark.parametrize(
    "command", ["sleep 77", "sleep 25", "sleep 60 & wait", "sleep 60; true", "sleep 30 >/dev/null"]
)
def test_a_command_that_begins_with_a_long_sleep_is_refused_since_332(
    home: Home, command: str
) -> None:
    claude = home.say(directive({"bash": command}, {"text": "end"}))
    claude.result()
    block = next(line for line in claude.seen if line["type"] == "user")["message"]["content"][0]
    assert block["is_error"]
    assert block["content"].startswith("<tool_use_error>Blocked: ")


@pytest.mark.parametrize(
    ("version", "command"),
    [
        ("2.1.197", "sleep 77"),
        ("2.1.332", "sleep 24"),
        ("2.1.332", "exec sleep 77"),
        ("2.1.332", "true; sleep 77"),
        ("2.1.332", "(sleep 77)"),
        ("2.1.332", "sleep 1m"),
        ("2.1.332", "perl -e 'sleep 77'"),
    ],
)
def test_other_sleeps_run(home: Home, version: str, command: str) -> None:
    claude = home.start(*BOTH_WAYS, version=version)
    claude.user(directive({"bash": command}))
    claude.until_type("assistant")
    session = claude.seen[0]["session_id"]
    eventually(lambda: children_of(f"CLAUDE_CODE_SESSION_ID={session}"))
    claude.control("r1", "interrupt")
    assert claude.result()["terminal_reason"] == "aborted_tools"
