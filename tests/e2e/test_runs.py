"""A run from its start to its ending: turns, signals, and the brief that holds in all of them."""

from __future__ import annotations

import json

import anyio
import pytest

from e2e.script import Say, bash, say, use
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


async def test_a_run_without_a_goal_ends_with_the_models_answer_and_one_notice(
    world: World,
) -> None:
    named = world.api.script(bash("echo from-the-tool"), say("all done"))
    async with world.daemon():
        reply = await world.start("lint", named)
        session = await world.ended("lint")
    assert (session["state"], session["stop_reason"]) == ("idle", "turn_ended")
    assert (session["result"], session["session_id"]) == ("all done", reply["session_id"])
    assert "from-the-tool" in json.dumps(world.api.of(named)[-1].body)
    [notice] = world.notices()
    assert (notice["kind"], notice["name"]) == ("finished", "lint")
    assert not any("mcp__" in tool for tool in world.api.of(named)[0].tools)


@on_both_versions
async def test_a_goal_is_reached_in_its_third_turn_with_the_brief_in_force(world: World) -> None:
    """R21. The signal is really called by the CLI over MCP."""
    report = world.sandbox.dir / "report.md"
    reached = use("mcp__signal__goal_reached", summary="none left", report_file=str(report))
    named = world.api.script(say("one"), say("two"), reached, say("three"))
    async with world.daemon():
        await world.start("lint", named, goal="no warnings left")
        session = await world.ended("lint")
        calls = world.api.of(named)
        assert (session["state"], session["stop_reason"]) == ("idle", "goal_reached")
        assert (session["turn"], session["result"]) == (3, "three")
        assert {"mcp__signal__goal_reached", "mcp__signal__need_help"} <= set(calls[0].tools)
        assert [call.system.count("BRIEF-OF-lint") for call in calls] == [1, 1, 1, 1]
        assert "no warnings left" in report.read_text()
        assert "/signal/" not in "".join(json.dumps(call.body) for call in calls)

        again = world.api.script(use("mcp__signal__need_help", message="which rule?"), say("?"))
        await world.must("continue", name="lint", prompt=again)
        session = await world.ended("lint")
    assert (session["state"], session["message"]) == ("need_help", "which rule?")
    assert (session["goal"], session["turn"]) == ("no warnings left", 1)
    assert [call.system.count("BRIEF-OF-lint") for call in world.api.of(again)] == [1, 1]
    assert [notice["kind"] for notice in world.notices()] == ["goal_reached", "need_help"]


@on_both_versions
async def test_the_whole_of_a_long_answer_lies_in_a_file(world: World) -> None:
    """Issue 9, 9; the subagent knows who reads how much of it."""
    answer = "é" * 30_000
    named = world.api.script(Say(text=answer, chunks=5))
    async with world.daemon():
        await world.start("lint", named)
        session = await world.ended("lint")
        file = anyio.Path(session["result_file"])
        assert await file.read_text() == f"{answer}\n"
        assert (await file.stat()).st_mode & 0o777 == 0o600
        assert "reads your last message" in world.api.of(named)[0].system
        notice = await world.notice("lint")
        assert notice["result_file"] == session["result_file"]
        assert session["result_file"] in notice["text"]
        await world.start("lint", world.api.script(say("anew")))
        assert (await world.ended("lint"))["result"] == "anew"
        assert not await file.exists()


async def test_a_goal_that_is_never_reported_ends_at_the_cap(world: World) -> None:
    named = world.api.script(say("one"), say("two"), say("three"))
    async with world.daemon():
        await world.start("lint", named, goal="no warnings left", max_turns=2)
        session = await world.ended("lint")
    assert (session["state"], session["stop_reason"]) == ("idle", "turn_cap")
    assert (session["turn"], session["result"]) == (2, "two")
    assert len(world.api.of(named)) == 2
    assert "need_help" in world.api.of(named)[1].user_text


@on_both_versions
async def test_a_background_task_that_reopens_the_turn_adds_its_answer(world: World) -> None:
    background = bash("perl -e 'sleep 1'", run_in_background=True)
    named = world.api.script(background, say("early"), say("late"))
    async with world.daemon():
        await world.start("build", named)
        session = await world.ended("build")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "early\n\nlate")


async def test_a_goal_turn_is_not_taken_for_answered_by_a_background_tasks_result(
    world: World,
) -> None:
    """Where the work of a turn is not waited for, the next one begins beside it."""
    background = bash("perl -e 'sleep 1'", run_in_background=True)
    named = world.api.script(
        background,
        say("one"),
        bash("perl -e 'sleep 2'"),
        use("mcp__signal__goal_reached", summary="built"),
        say("two"),
        say("of the background task"),
    )
    async with world.daemon():
        await world.start("build", named, goal="it builds", background_wait_s=0)
        session = await world.ended("build")
    assert (session["stop_reason"], session["turn"]) == ("goal_reached", 2)
    assert len(world.notices()) == 1


async def test_starting_a_finished_name_again_archives_the_session_before(world: World) -> None:
    async with world.daemon():
        first = await world.start("lint", world.api.script(say("one")))
        await world.ended("lint")
        second = await world.start("lint", world.api.script(say("two")))
        session = await world.ended("lint")
    assert second["archived"] == 1
    assert (session["result"], session["session_id"]) == ("two", second["session_id"])
    kept = {path.name for path in world.sandbox.config.glob("projects/*/*.jsonl*")}
    assert kept == {f"{first['session_id']}.jsonl.archived", f"{second['session_id']}.jsonl"}


async def test_an_answer_of_5_mb_finishes_a_run_and_its_beginning_is_told(world: World) -> None:
    """R4. In `result` it is cut at 8,000 bytes, on a character boundary."""
    text = "äöü€" * (5 * 1024 * 1024 // 9)
    async with world.daemon():
        await world.start("long", world.api.script(Say(text=text, chunks=200)))
        session = await world.ended("long")
    assert session["stop_reason"] == "turn_ended"
    assert text.startswith(session["result"][:1000])
    assert 7_900 < len(session["result"].encode()) <= 8_000
