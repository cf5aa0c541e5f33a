"""What a parent said too late for a run, or to one that died, is told once all the same."""

from __future__ import annotations

import os
import signal

import anyio
import pytest

from e2e.hands import MARK, begin, intervene, told
from e2e.script import Hang, Say, bash, say
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


@on_both_versions
async def test_information_that_comes_too_late_is_told_and_stands_before_the_next_prompt_once(
    world: World,
) -> None:
    thought = anyio.Event()
    async with world.daemon():
        await world.start("lint", world.api.script(Say(text="my answer", after=thought)))
        await world.api.until(lambda calls: len(calls) == 1)
        await intervene(world, "info", "The API moved.")
        thought.set()
        assert (await world.ended("lint"))["result"] == "my answer"
        notice = await world.notice("lint")
        assert "Not delivered before the run ended: info" in notice["text"]
        for _ in range(2):
            named = world.api.script(say("i see"))
            await world.must("continue", name="lint", prompt=named)
            await world.ended("lint")
            assert told(world.api.of(named), "The API moved.") == [1]
    late = ["Not delivered" in notice["text"] for notice in world.notices()]
    assert late == [True, False, False]


@on_both_versions
async def test_what_a_killed_claude_had_read_is_not_told_again(world: World) -> None:
    """It says so only once the API has answered; till then its transcript knows."""
    thought = anyio.Event()
    async with world.daemon():
        await world.start("lint", world.api.script(Say(text="my answer", after=thought)))
        await world.api.until(lambda calls: len(calls) == 1)
        await intervene(world, "info", "The API moved.")
        thought.set()
        await world.ended("lint")
        reply = await world.must("continue", name="lint", prompt=world.api.script(Hang()))
        await world.api.until(lambda calls: len(calls) == 2)
        os.kill(reply["pid"], signal.SIGKILL)
        assert (await world.ended("lint"))["state"] == "killed"
        named = world.api.script(say("i see"))
        await world.must("continue", name="lint", prompt=named)
        await world.ended("lint")
    assert told(world.api.of(named), "The API moved.") == [1]


async def test_what_a_killed_daemon_had_queued_is_told_and_kept_by_the_next_one(
    world: World,
) -> None:
    async with world.daemon() as daemon:
        await begin(world, bash("perl -e 'sleep 300'"))
        await intervene(world, "info", "The API moved.")
        await intervene(world, "redirect", "Use plan B.")
        daemon.kill()
        await daemon.wait()
    async with world.daemon():
        named = world.api.script(say("i see"))
        await world.must("continue", name="lint", prompt=named)
        await world.ended("lint")
    assert told(world.api.of(named), "The API moved.") == [1]
    assert told(world.api.of(named), f"{MARK} Use plan B.") == [1]
    killed, finished = world.notices()
    assert killed["text"].count("it is kept for the next turn") == 2
    assert "Not delivered" not in finished["text"]
