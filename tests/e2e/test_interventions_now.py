"""Redirects that cut what a real subagent does."""

from __future__ import annotations

import anyio
import pytest
from support.processes import until

from e2e.hands import MARK, begin, intervene, told
from e2e.script import Hang, bash, say
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e


@on_both_versions
async def test_a_redirect_now_cuts_the_tool_and_is_answered(world: World) -> None:
    async with world.daemon():
        await begin(world, bash("perl -e 'sleep 300'"), say("never said"))
        named = world.api.script(say("as you say"))
        assert await intervene(world, "redirect", f"Use plan B. {named}", now=True) == "delivered"
        session = await world.ended("lint")
        assert world.alive() == {}
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "as you say")
    assert told(world.api.of(named), f"{MARK} Use plan B.") == [1]
    assert [notice["kind"] for notice in world.notices()] == ["finished"]


@on_both_versions
async def test_two_redirects_now_are_both_told_in_order_and_once(world: World) -> None:
    async with world.daemon():
        await begin(world, bash("perl -e 'sleep 300'"), say("never said"))
        hanging, named = world.api.script(Hang()), world.api.script(say("as you say"))
        states: dict[str, str] = {}

        async def one(plan: str, answer: str) -> None:
            states[plan] = await intervene(world, "redirect", f"{plan} {answer}", now=True)

        async with anyio.create_task_group() as group:
            # the API answers no plan but the last
            group.start_soon(one, "Use plan B.", hanging)
            await until(lambda: "is queued" in world.log.read_text(), "the first redirect")
            group.start_soon(one, "Use plan C.", named)
        session = await world.ended("lint")
    assert states == {"Use plan B.": "delivered", "Use plan C.": "delivered"}
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "as you say")
    [last] = told(world.api.of(named)[-1:], f"{MARK} Use plan")
    assert last == 2


@on_both_versions
async def test_a_redirect_now_does_not_wait_for_an_api_that_hangs(world: World) -> None:
    hanging = world.api.script(Hang())
    named = world.api.script(say("as you say"))
    async with world.daemon():
        await world.start("lint", hanging)
        await world.api.until(lambda calls: len(calls) == 1)
        assert await intervene(world, "redirect", f"Use plan B. {named}", now=True) == "delivered"
        session = await world.ended("lint")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "as you say")


@on_both_versions
async def test_a_redirect_now_before_the_first_event_is_answered(world: World) -> None:
    named = world.api.script(say("as you say"))
    async with world.daemon(), anyio.create_task_group() as group:
        group.start_soon(world.start, "lint", world.api.script(Hang()))
        with anyio.fail_after(20):
            while "lint" not in [s["name"] for s in (await world.must("status"))["sessions"]]:
                pass
        await intervene(world, "redirect", f"Use plan B. {named}", now=True)
        session = await world.ended("lint")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "as you say")
    assert told(world.api.of(named), f"{MARK} Use plan B.") == [1]
