"""What ends a run that is held for its background work before that has ended."""

from __future__ import annotations

import anyio
import pytest

from e2e.background import LONG, held
from e2e.script import bash, say
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


@on_both_versions
@pytest.mark.parametrize("wait_s", [0, 1.0])
async def test_background_work_is_ended_at_the_limit_and_named(world: World, wait_s: float) -> None:
    """Issue 9, 1: the answer stands."""
    named = world.api.script(
        bash(LONG, run_in_background=True, description="a server"), say("it serves")
    )
    async with world.daemon():
        await world.start("build", named, background_wait_s=wait_s)
        session = await world.ended("build")
        assert world.alive() == {}
        await world.must("continue", name="build", prompt=world.api.script(say("back")))
        assert (await world.ended("build"))["result"] == "back"
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "it serves")
    assert [(t["kind"], t["description"]) for t in session["ended_background"]] == [
        ("shell", "a server")
    ]
    assert session["background_wait_s"] == wait_s
    notice, _ = world.notices()
    assert notice["kind"] == "finished"
    assert "Ended with it, not finished, in the background: shell (a server)" in notice["text"]


@on_both_versions
async def test_an_interrupt_while_background_work_goes_on_cuts_the_turn(world: World) -> None:
    """Issue 9, 1: it says what was ended, and what had been answered by then."""
    world.settings = {"interrupt_grace_s": 60}
    named = world.api.script(
        bash(LONG, run_in_background=True, description="a server"), say("it serves")
    )
    async with world.daemon():
        await world.start("build", named)
        await held(world)
        with anyio.fail_after(20):
            await world.must("interrupt", name="build")
        session = await world.ended("build")
        assert world.alive() == {}
        again = await world.must("continue", name="build", prompt=world.api.script(say("back")))
        assert again["previous"]["cause"] == "interrupt"
        assert (await world.ended("build"))["result"] == "back"
    assert (session["state"], session["cause"]) == ("killed", "interrupt")
    assert session["result"] == "it serves"
    assert [task["description"] for task in session["ended_background"]] == ["a server"]


async def test_the_limit_of_a_turn_covers_its_background_work(world: World) -> None:
    """Issue 9, 1."""
    named = world.api.script(
        bash(LONG, run_in_background=True, description="a server"), say("it serves")
    )
    async with world.daemon():
        await world.start("build", named, turn_timeout_s=5)
        session = await world.ended("build")
    assert (session["state"], session["cause"]) == ("killed", "timeout")
    assert [task["description"] for task in session["ended_background"]] == ["a server"]


@on_both_versions
async def test_a_claude_that_dies_while_background_work_goes_on_was_killed(world: World) -> None:
    """Issue 9, 1: a turn that is not over has not finished."""
    named = world.api.script(bash(LONG, run_in_background=True), say("started"))
    async with world.daemon():
        reply = await world.start("build", named)
        await held(world)
        await anyio.run_process(["kill", "-KILL", str(reply["pid"])])
        session = await world.ended("build")
        assert world.alive() == {}
    assert (session["state"], session["signal"]) == ("killed", "SIGKILL")
    assert (session["result"], len(session["ended_background"])) == ("started", 1)


@pytest.mark.parametrize("signal", ["INT", "TERM", "HUP"])
async def test_a_signal_that_claude_handles_meanwhile_is_no_end_of_the_turn(
    world: World, signal: str
) -> None:
    """Issue 9, 1: it ends its tasks first and exits with a code; it was told as finished."""
    named = world.api.script(bash(LONG, run_in_background=True), say("it serves"))
    async with world.daemon():
        reply = await world.start("build", named)
        await held(world)
        await anyio.run_process(["kill", f"-{signal}", str(reply["pid"])])
        session = await world.ended("build")
        assert world.alive() == {}
    assert session["state"] in ("killed", "failed")
    assert (session["result"], len(session["ended_background"])) == ("it serves", 1)
