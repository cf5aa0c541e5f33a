"""A parent's hand on a real subagent: what its model is told, and when."""

from __future__ import annotations

import anyio
import pytest

from e2e.hands import MARK, begin, gate, in_tool, intervene, pending, told
from e2e.script import Say, bash, say, use
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


@on_both_versions
async def test_a_redirect_during_a_tool_is_in_the_next_request_and_the_tool_goes_on(
    world: World,
) -> None:
    first, second = gate(world), gate(world, "second")
    async with world.daemon():
        named = await begin(world, first.tool, second.tool, say("as you say"))
        assert await intervene(world, "redirect", "Use plan B.") == "queued"
        assert await pending(world) == ["queued"]
        first.open()
        await in_tool(world, "lint", count=2)
        assert await pending(world) == []
        second.open()
        session = await world.ended("lint")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "as you say")
    calls = world.api.of(named)
    assert told(calls, f"{MARK} Use plan B.") == [0, 1, 1]
    assert first.passed


@on_both_versions
@pytest.mark.parametrize("length", [0, 60_000])
async def test_information_is_in_the_next_request_whole_and_shows_nowhere_else(
    world: World, length: int
) -> None:
    """Of a hook's words over 10,000 characters the CLI would show 2 KB."""
    text = "The API moved. " + "x" * length + " That is all."
    waiting = gate(world)
    async with world.daemon():
        named = await begin(world, waiting.tool, say("done"))
        assert await intervene(world, "info", text) == "queued"
        waiting.open()
        await world.ended("lint")
    assert told(world.api.of(named), text) == [0, 1]
    output = world.runtime_dir / "channels" / "lint" / "output.txt"
    assert "tool opens: Bash" in output.read_text()
    assert "API" not in output.read_text()
    assert [notice["kind"] for notice in world.notices()] == ["finished"]
    assert "Not delivered" not in world.notices()[0]["text"]


@on_both_versions
async def test_a_stop_ends_the_run_after_its_tool_and_the_session_goes_on_later(
    world: World,
) -> None:
    waiting = gate(world)
    async with world.daemon():
        named = await begin(world, waiting.tool, say("never said"))
        assert await intervene(world, "stop", "the branch was merged") == "queued"
        waiting.open()
        session = await world.ended("lint")
        assert (session["state"], session["stop_reason"]) == ("idle", "stopped")
        assert session["message"] == "the branch was merged"
        assert waiting.passed
        assert len(world.api.of(named)) == 1
        await world.must("continue", name="lint", prompt=world.api.script(say("back")))
        assert (await world.ended("lint"))["result"] == "back"
    assert [notice["kind"] for notice in world.notices()] == ["stopped", "finished"]
    assert "stopped by its owner: the branch was merged." in world.notices()[0]["text"]
    assert "Not delivered" not in world.notices()[0]["text"]


async def test_a_stop_after_which_no_step_comes_is_carried_out_all_the_same(world: World) -> None:
    world.settings = {"stop_grace_s": 1.0, "interrupt_grace_s": 2.0}
    async with world.daemon():
        await begin(world, bash("perl -e 'sleep 300'"))
        await intervene(world, "stop", "enough")
        session = await world.ended("lint")
        assert world.alive() == {}
        assert (session["state"], session["stop_reason"]) == ("killed", "stopped")
        assert session["message"] == "enough"
        await world.must("continue", name="lint", prompt=world.api.script(say("back")))
        assert (await world.ended("lint"))["result"] == "back"
    assert "Not delivered" not in world.notices()[0]["text"]


@on_both_versions
async def test_a_redirect_keeps_a_turn_without_tools_going(world: World) -> None:
    thought = anyio.Event()
    named = world.api.script(Say(text="my answer", after=thought), say("as you say"))
    async with world.daemon():
        await world.start("lint", named)
        await world.api.until(lambda calls: len(calls) == 1)
        assert await intervene(world, "redirect", "Use plan B.") == "queued"
        thought.set()
        session = await world.ended("lint")
    assert (session["stop_reason"], session["result"]) == (
        "turn_ended",
        "my answer\n\nas you say",
    )
    assert told(world.api.of(named), f"{MARK} Use plan B.") == [0, 1]


@on_both_versions
async def test_a_redirect_stays_within_the_turn_of_a_goal(world: World) -> None:
    thought = anyio.Event()
    reached = use("mcp__signal__goal_reached", summary="by plan B")
    named = world.api.script(Say(text="one", after=thought), reached, say("two"))
    async with world.daemon():
        await world.start("lint", named, goal="no warnings left", max_turns=2)
        await world.api.until(lambda calls: len(calls) == 1)
        await intervene(world, "redirect", "Use plan B.")
        thought.set()
        session = await world.ended("lint")
    assert (session["stop_reason"], session["turn"]) == ("goal_reached", 1)
    assert told(world.api.of(named), f"{MARK} Use plan B.") == [0, 1, 1]


@on_both_versions
@pytest.mark.parametrize("goal", [{}, {"goal": "no warnings left"}], ids=["no-goal", "goal"])
async def test_a_stop_ends_a_turn_without_tools(world: World, goal: dict[str, str]) -> None:
    thought = anyio.Event()
    named = world.api.script(Say(text="my answer", after=thought), say("never said"))
    async with world.daemon():
        await world.start("lint", named, **goal)
        await world.api.until(lambda calls: len(calls) == 1)
        await intervene(world, "stop", "enough")
        thought.set()
        session = await world.ended("lint")
    assert (session["state"], session["stop_reason"]) == ("idle", "stopped")
    assert (session["turn"], session["result"]) == (1, "my answer")
    assert "Its turn had an answer by then; nothing further was begun" in world.notices()[0]["text"]
    assert len(world.api.of(named)) == 1


@on_both_versions
async def test_a_subagent_of_the_subagent_does_not_swallow_it(world: World) -> None:
    waiting = gate(world)
    inner = world.api.script(waiting.tool, say("inner done"))
    agent = use(
        "Agent",
        description="inner",
        prompt=inner,
        subagent_type="general-purpose",
        run_in_background=False,  # what 2.1.332 does unless told
    )
    outer = world.api.script(agent, say("outer done"))
    async with world.daemon():
        await world.start("lint", outer)
        await waiting.begun()
        await intervene(world, "redirect", "Use plan B.")
        waiting.open()
        session = await world.ended("lint")
    assert session["result"] == "outer done"
    assert told(world.api.of(inner), MARK) == [0, 0]
    assert told(world.api.of(outer), f"{MARK} Use plan B.") == [0, 1]
