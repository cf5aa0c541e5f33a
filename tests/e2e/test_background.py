"""Background work of a turn: it holds the run, and nothing of it is lost or passed over."""

from __future__ import annotations

import anyio
import pytest

from e2e.background import LONG, held, in_background
from e2e.handing import delegate, over
from e2e.hands import gate, intervene, told
from e2e.processes import until_running
from e2e.script import Say, bash, say, use
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


@on_both_versions
async def test_a_background_command_holds_the_run_until_it_has_ended(world: World) -> None:
    """Issue 9, 1 and 2: it was ended after `exit_grace_s`, and its report was the whole result."""
    build = gate(world)
    named = world.api.script(
        in_background(build, description="build it"), say("I started it"), say("It is built")
    )
    world.settings = {"exit_grace_s": 0.5}
    async with world.daemon():
        await world.start("build", named)
        session = await held(world)
        assert session["state"] == "running"
        assert [(t["kind"], t["description"]) for t in session["background"]] == [
            ("shell", "build it")
        ]
        assert session["background"][0]["age_s"] >= 0
        waited = await world.must("wait", names=["build"], timeout_s=1)
        assert not waited["done"]
        build.open()
        session = await world.ended("build")
    assert (session["stop_reason"], session["result"]) == (
        "turn_ended",
        "I started it\n\nIt is built",
    )
    assert (session["answers"], session["ended_background"]) == (2, [])
    assert build.passed
    assert [notice["kind"] for notice in world.notices()] == ["finished"]


async def test_an_agent_is_in_the_background_by_default_and_holds_the_run(world: World) -> None:
    """Issue 9, 1: so it is in 2.1.332; what it answers reaches the report."""
    look = gate(world)
    inner = world.api.script(look.tool, say("X is here"))
    agent = use("Agent", description="look", subagent_type="general-purpose", prompt=inner)
    named = world.api.script(agent, say("I launched it"), say("It found X"))
    async with world.daemon():
        await world.start("build", named)
        session = await held(world)
        assert [(t["kind"], t["description"]) for t in session["background"]] == [("agent", "look")]
        look.open()
        session = await world.ended("build")
    assert session["result"] == "I launched it\n\nIt found X"


async def test_what_an_agent_left_in_the_background_holds_the_run_as_well(world: World) -> None:
    """Issue 9, 1: for a moment nothing is open between its command's end and its own return."""
    inner = world.api.script(
        bash("perl -e 'sleep 2'", run_in_background=True), say("agent done"), say("agent after")
    )
    agent = use("Agent", description="look", subagent_type="general-purpose", prompt=inner)
    named = world.api.script(agent, say("launched"), say("first"), say("second"))
    async with world.daemon():
        await world.start("build", named)
        session = await world.ended("build")
    assert session["result"] == "launched\n\nfirst\n\nsecond"


@on_both_versions
async def test_two_commands_that_end_at_once_hold_nothing_up(world: World) -> None:
    """Issue 9, 1: 2.1.332 opens an empty turn for the first of them."""
    both = gate(world)
    tool = in_background(both).tools[0]
    named = world.api.script(Say(tools=(tool, tool)), say("started"), *[say("told")] * 3)
    async with world.daemon():
        await world.start("build", named)
        session = await held(world)
        assert len(session["background"]) == 2
        both.open()
        session = await world.ended("build")
    assert session["stop_reason"] == "turn_ended"
    assert session["result"].startswith("started\n\ntold")


async def test_each_event_of_a_watch_is_an_answer(world: World) -> None:
    """Issue 9, 1 and 2. Monitor came after 2.1.197."""
    watch = use(
        "Monitor",
        description="watch",
        command="echo one; perl -e 'sleep 1'; echo two; perl -e 'sleep 1'",
        timeout_ms=60000,
        persistent=False,
    )
    named = world.api.script(watch, *(say(f"said {n}") for n in range(9)))
    async with world.daemon():
        await world.start("build", named)
        session = await held(world)
        assert [task["kind"] for task in session["background"]] == ["monitor"]
        session = await world.ended("build")
    assert session["answers"] >= 3
    assert session["result"] == "\n\n".join(f"said {n}" for n in range(session["answers"]))


@on_both_versions
async def test_no_turn_of_a_goal_begins_while_background_work_goes_on(world: World) -> None:
    """Issue 9, 1: the turns were used up within a second."""
    build = gate(world)
    named = world.api.script(
        in_background(build),
        say("one"),
        use("mcp__signal__goal_reached", summary="built"),
        say("two"),
    )
    async with world.daemon():
        await world.start("build", named, goal="it builds")
        session = await held(world)
        await world.must("wait", names=["build"], timeout_s=1)
        assert (session["turn"], len(world.api.of(named))) == (1, 2)
        build.open()
        session = await world.ended("build")
    assert (session["stop_reason"], session["turn"]) == ("goal_reached", 1)
    assert session["result"] == "one\n\ntwo"


@on_both_versions
async def test_a_redirect_reaches_a_run_that_only_waits_at_once(world: World) -> None:
    """Issue 9, 1: claude does nothing there, so it comes to no step."""
    build = gate(world)
    named = world.api.script(in_background(build), say("I started it"), say("heard"), say("built"))
    async with world.daemon():
        await world.start("build", named)
        await held(world)
        assert await intervene(world, "redirect", "SAY-HELLO", name="build") == "delivered"
        await world.api.until(lambda calls: len(world.api.of(named)) == 3)
        session = await held(world)
        assert not build.passed
        build.open()
        session = await world.ended("build")
    assert told(world.api.of(named), "SAY-HELLO") == [0, 0, 1, 1]
    assert session["result"] == "I started it\n\nheard\n\nbuilt"


@on_both_versions
async def test_a_stop_takes_effect_at_once_on_a_run_that_only_waits(world: World) -> None:
    """Issue 9, 1."""
    named = world.api.script(
        bash(LONG, run_in_background=True, description="a server"), say("it serves")
    )
    async with world.daemon():
        await world.start("build", named)
        await held(world)
        with anyio.fail_after(20):
            await intervene(world, "stop", "enough", name="build")
            session = await world.ended("build")
        assert world.alive() == {}
    assert (session["state"], session["stop_reason"]) == ("idle", "stopped")
    assert (session["message"], session["result"]) == ("enough", "it serves")
    assert [task["description"] for task in session["ended_background"]] == ["a server"]


@on_both_versions
async def test_information_arrives_in_the_turn_that_background_work_opens(world: World) -> None:
    """Issue 9, 1: the hooks answer there as before."""
    build = gate(world)
    named = world.api.script(in_background(build), say("one"), bash("true"), say("two"))
    async with world.daemon():
        await world.start("build", named)
        await held(world)
        assert await intervene(world, "info", "GOOD-TO-KNOW", name="build") == "queued"
        build.open()
        await world.ended("build")
    assert told(world.api.of(named), "GOOD-TO-KNOW") == [0, 0, 0, 1]


@on_both_versions
async def test_a_child_with_background_work_has_not_finished(world: World) -> None:
    """Issue 9, 1: its delegation counted it as finished."""
    build = gate(world)
    named = world.api.script(in_background(build), say("started"), say("built"))
    async with world.daemon():
        reply = await delegate(world, ("worker", named), timeout_s=60)
        await held(world, "worker-1")
        assert world.notices() == []
        build.open()
        (session,) = await over(world, reply)
    assert session["result"] == "started\n\nbuilt"
    (notice,) = world.notices()
    assert [child["end"] for child in notice["children"]] == ["finished"]


async def test_a_childs_time_covers_its_background_work(world: World) -> None:
    """Issue 9, 1."""
    named = world.api.script(bash(LONG, run_in_background=True), say("started"))
    async with world.daemon():
        (session,) = await over(world, await delegate(world, ("worker", named), timeout_s=5))
    assert (session["state"], session["cause"]) == ("killed", "timeout")
    assert len(session["ended_background"]) == 1


@on_both_versions
async def test_a_long_command_in_the_foreground_holds_nothing(world: World) -> None:
    """Issue 9, 1: over 3 s it is told as a task, which is no background one."""
    named = world.api.script(bash("perl -e 'sleep 4'; true"), say("done"))
    async with world.daemon():
        await world.start("build", named)
        await until_running(world.sandbox.home, "perl -e sleep 4")
        session = await world.must("status", name="build")
        while session["state"] == "running":
            assert session["background"] == []
            await anyio.sleep(0.1)
            session = await world.must("status", name="build")
    assert (session["result"], session["answers"]) == ("done", 1)
