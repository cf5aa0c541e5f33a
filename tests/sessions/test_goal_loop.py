"""Runs with a goal: turn after turn until the subagent says so, the cap, or an end."""

from __future__ import annotations

import json

import pytest
from support.daemon import Daemon
from support.stub import REACHED, bash, goal_reached, need_help, script, text, turns

GOAL = "no warnings are left"


async def test_the_first_message_names_goal_turns_and_signals(daemon: Daemon) -> None:
    echo = script({"echo_prompt": True}, REACHED)
    session = await daemon.run(echo, trigger="Go.", goal=GOAL, max_turns=3)
    said = session["result"]
    assert said.startswith("Go.\n")
    for words in (GOAL, "goal_reached", "need_help", "3 turns"):
        assert words in said


async def test_the_next_message_says_that_the_goal_is_not_reported_and_help_exists(
    daemon: Daemon,
) -> None:
    does = turns([text("half")], [{"echo_prompt": True}])
    session = await daemon.run(does, goal=GOAL, max_turns=3)
    said = session["result"]
    for words in (f"not reported reached: {GOAL}", "need_help", "turn 3 of 3", "last turn"):
        assert words in said
    assert session["stop_reason"] == "turn_cap"


async def test_all_turns_of_a_run_are_one_process(daemon: Daemon) -> None:
    pids = daemon.gate()
    await daemon.run(script(bash(f"echo $PPID >> {pids}")), goal=GOAL, max_turns=3)
    assert len(pids.read_text().splitlines()) == 3
    assert len(set(pids.read_text().splitlines())) == 1


async def test_status_tells_the_turn_while_it_runs(daemon: Daemon) -> None:
    gate = daemon.gate()
    does = turns([text("half")], [bash(f"until [ -e {gate} ]; do sleep 0.02; done"), REACHED])
    name = await daemon.begin(does, goal=GOAL, max_turns=4)
    session = await daemon.in_tool(name)
    assert (session["turn"], session["max_turns"], session["goal"]) == (2, 4, GOAL)
    assert "turn 2 of 4" in session["text"]
    gate.touch()
    assert (await daemon.ended(name))["stop_reason"] == "goal_reached"


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ({"die": "SIGKILL"}, "killed"),
        ({"exit": 143}, "killed"),
        ({"exit": 0}, "failed"),
        ({"api_error": 529}, "failed"),
    ],
)
async def test_after_a_turn_that_was_cut_or_failed_there_is_no_next_one(
    daemon: Daemon, last: dict[str, object], reason: str
) -> None:
    """R14: a loop that prompts again after a kill is killed again, for ever."""
    session = await daemon.run(turns([text("half")], [last]), goal=GOAL, max_turns=9)
    assert (session["stop_reason"], session["turn"]) == (reason, 2)
    name = session["name"]
    await daemon.must("continue", name=name, prompt=script({"echo_history": True}), goal="")
    prompts = json.loads((await daemon.ended(name))["result"])
    assert len(prompts) == 2, prompts


@pytest.mark.parametrize("last", [{"die": "SIGKILL"}, {"api_error": 529}])
async def test_a_question_outlives_the_turn_that_asked_it(
    daemon: Daemon, last: dict[str, object]
) -> None:
    """What the subagent has said is not lost because its turn then broke."""
    session = await daemon.run(script(need_help("Which one?"), last), goal=GOAL)
    assert session["state"] in ("killed", "failed")
    assert "Which one?" in session["message"]
    assert "Which one?" in (await daemon.notice(session["name"]))["text"]


async def test_a_continued_goal_counts_from_one(daemon: Daemon) -> None:
    session = await daemon.run(script(text("x")), goal=GOAL, max_turns=2)
    name = session["name"]
    await daemon.must("continue", name=name, prompt=script(REACHED, text("y")))
    session = await daemon.ended(name)
    assert (session["turn"], session["max_turns"]) == (1, 2)
    assert session["stop_reason"] == "goal_reached"


async def test_a_report_that_the_subagent_names_gets_the_ending_appended(daemon: Daemon) -> None:
    """Beside the one that the owner named; a path counts from the session's directory."""
    owners = daemon.root / "owners.report"
    (daemon.work_dir / "own.report").write_text("what I found")
    session = await daemon.run(
        script(goal_reached("all done", report_file="own.report"), text("done")),
        goal=GOAL,
        report_file=str(owners),
    )
    notice = await daemon.notice(session["name"])
    assert notice["report_file"] == str(owners)
    entry = f"{notice['at']} {notice['text']}\n"
    assert owners.read_text() == entry
    assert (daemon.work_dir / "own.report").read_text() == f"what I found\n{entry}"


async def test_without_a_report_of_the_owner_the_notice_names_that_of_the_subagent(
    daemon: Daemon,
) -> None:
    file = daemon.work_dir / "asked.report"
    session = await daemon.run(
        script(need_help("Which?", report_file=str(file)), text("waiting")), goal=GOAL
    )
    notice = await daemon.notice(session["name"])
    assert notice["report_file"] == str(file)
    assert "Which?" in file.read_text()


async def test_a_report_that_cannot_be_written_costs_nothing_but_a_line(daemon: Daemon) -> None:
    session = await daemon.run(
        script(goal_reached("ok", report_file="missing/own.report"), text("done")), goal=GOAL
    )
    assert session["stop_reason"] == "goal_reached"
    notice = await daemon.notice(session["name"])
    file = daemon.work_dir / "missing" / "own.report"
    assert f"report file {file} was not written: its directory does not exist" in notice["text"]


async def test_what_a_subagent_says_at_length_is_cut(daemon: Daemon) -> None:
    session = await daemon.run(script(need_help("é" * 9000), text("w")), goal=GOAL)
    assert session["message"] == "é" * 4000
