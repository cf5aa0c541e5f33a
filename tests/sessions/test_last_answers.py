"""What is told where the end of a turn is not what it looks like."""

from __future__ import annotations

import json

import pytest
from support.house import House
from support.stub import NEW, OLD, bash, script, text, turns

from hive_subagent.models.session import FailureCause, State, StopReason

BOTH = pytest.mark.parametrize("version", [NEW, OLD])


@BOTH
async def test_all_text_blocks_of_the_last_message_are_told(home: House, version: str) -> None:
    """Issue 9, 7."""
    view = await home.run(script(text("one"), text("two"), text("three"), version=version))
    assert (view.result, view.answers) == ("one\n\ntwo\n\nthree", 1)
    assert view.result_file is not None


@BOTH
async def test_the_last_text_is_told_where_the_turn_ends_without_one(
    home: House, version: str
) -> None:
    """Issue 9, 8: it finished its turn, with nothing."""
    view = await home.run(script(text("The answer is 42."), bash("true"), version=version))
    assert (view.stop_reason, view.result) == (StopReason.TURN_ENDED, "The answer is 42.")
    assert view.result_beside_tool
    (notice,) = await home.notices()
    assert "It ended without a word. The last that it said, before its last" in notice["text"]
    assert "> The answer is 42." in notice["text"]


@BOTH
async def test_a_turn_that_said_nothing_is_told_as_such(home: House, version: str) -> None:
    """Issue 9, 8."""
    view = await home.run(script(bash("true"), {"end": True}, version=version))
    assert (view.stop_reason, view.result, view.result_beside_tool) == ("turn_ended", "", False)
    (notice,) = await home.notices()
    assert "It said nothing." in notice["text"]


@BOTH
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"decision": "block", "reason": "no such work"}, "blocked by hook:\nno such work"),
        ({"continue": False, "stopReason": "no such work"}, "stopped by hook: no such work"),
    ],
)
async def test_a_blocked_prompt_is_a_failure_and_ends_the_loop(
    home: House, version: str, answer: dict[str, object], said: str
) -> None:
    """Issue 9, 10: a goal run repeated it to the cap; later turns are not even echoed."""
    flag = home.gate()
    command = f"test -e {flag} && echo '{json.dumps(answer)}'; touch {flag}"
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command}]}]}
    settings = home.root / "work" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": hooks}))
    does = turns([text("one")], [text("two")], version=version)
    view = await home.run(does, goal="g", max_turns=9)
    assert (view.state, view.turn, view.cause) == (State.FAILED, 2, FailureCause.BLOCKED)
    assert said in (view.message or "")
    assert "Original prompt" not in (view.message or "")
    await home.notices()


@BOTH
async def test_an_overridden_stop_hook_is_told(home: House, version: str) -> None:
    """Issue 9, 11."""
    answer = json.dumps({"decision": "block", "reason": "MORE"})
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": f"echo '{answer}'"}]}]}
    settings = home.root / "work" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": hooks}))
    view = await home.run(script(text("mine"), version=version))
    assert view.stop_reason == StopReason.TURN_ENDED
    assert view.result
    assert view.warning is not None
    assert "9 " in view.warning
    (notice,) = await home.notices()
    assert f"> {view.warning}" in notice["text"]


@BOTH
async def test_a_result_without_its_line_end_counts(home: House, version: str) -> None:
    """Issue 9, 12."""
    view = await home.run(script({"no_line_end": True}, text("done"), version=version))
    assert (view.stop_reason, view.result) == (StopReason.TURN_ENDED, "done")


async def test_what_a_run_leaves_behind_is_named_to_its_reader(home: House) -> None:
    """Issue 9, 1: what died with a run stood in the log alone."""
    pid_file = home.gate()
    spawn = {"spawn": "exec perl -e 'sleep 300'", "setsid": True, "pid_file": str(pid_file)}
    view = await home.run(script(spawn, text("it serves")))
    assert view.stop_reason == StopReason.TURN_ENDED
    (process,) = view.ended_processes
    assert (process.pid, process.command) == (int(pid_file.read_text()), "perl -e sleep 300")
    (notice,) = await home.notices()
    assert f"Processes that it left behind were ended: {process.pid} perl" in notice["text"]
    _, told = await home.service.status("agent")
    assert f"{process.pid} perl -e sleep 300" in told


@BOTH
async def test_an_ordinary_run_leaves_nothing_behind(home: House, version: str) -> None:
    """Issue 9, 1."""
    view = await home.run(script(bash("true"), text("done"), version=version))
    assert (view.ended_processes, view.ended_background, view.warning) == ([], [], None)


@pytest.mark.parametrize(("first", "second"), [("said", ""), ("", "said")])
async def test_of_several_answers_the_empty_ones_are_left_out(
    home: House, first: str, second: str
) -> None:
    """Issue 9, 2 and 8: they stood in the result as blank lines, and were counted."""
    soon = {"bash": "perl -e 'select undef, undef, undef, 0.1'", "background": True}
    view = await home.run(script(soon, text(first), after_background=[text(second)]))
    assert (view.result, view.answers) == ("said", 1)
    _, told = await home.service.status("agent")
    assert "Its last answer:\n> said\n" in told


async def test_a_turn_of_empty_answers_alone_said_nothing(home: House) -> None:
    """Issue 9, 2 and 8."""
    soon = {"bash": "perl -e 'select undef, undef, undef, 0.1'", "background": True}
    view = await home.run(script(soon, text(""), after_background=[text("")]))
    assert (view.result, view.answers) == ("", 1)
    _, told = await home.service.status("agent")
    assert "It said nothing." in told
