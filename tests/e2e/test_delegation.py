"""Delegation with the real CLI: how it ends, and that nothing of it is left alive."""

from __future__ import annotations

import anyio
import pytest

from e2e.handing import delegate, over
from e2e.processes import until_running
from e2e.sandbox import FEW_RETRIES
from e2e.script import Fail, Hang, bash, say, use
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e

SLEEP = "perl -e 'sleep 300'"


def ends(world: World) -> list[str]:
    """How the children of the one delegation ended, by its one notice."""
    (notice,) = world.notices()
    assert notice["kind"] == "delegation"
    return [child["end"] for child in notice["children"]]


async def test_three_children_at_once_are_told_in_one_notice(world: World) -> None:
    scripts = [world.api.script(bash("ls"), say(f"answer {n}")) for n in range(2)]
    scripts.append(world.api.script(use("Read", file_path="/etc/hostname"), say("answer 2")))
    roles = ["worker", "worker", "scout"]
    async with world.daemon():
        reply = await delegate(world, *zip(roles, scripts, strict=True))
        sessions = await over(world, reply)
    assert [session["result"] for session in sessions] == [f"answer {n}" for n in range(3)]
    assert ends(world) == ["finished"] * 3
    (notice,) = world.notices()
    for child in notice["children"]:
        assert child["cost_usd"] > 0
        assert await anyio.Path(child["transcript"]).exists()


async def test_the_first_failure_cancels_the_others_and_leaves_nothing_alive(
    world: World,
) -> None:
    world.settings = {"max_running": 3}
    release = world.api.script(
        bash("until [ -e go ]; do perl -e 'sleep 0.1'; done"), Fail(status=400)
    )
    busy, hangs = world.api.script(bash(SLEEP)), world.api.script(Hang())
    async with world.daemon():
        reply = await delegate(
            world,
            ("worker", release),
            ("worker", busy),
            ("worker", hangs),
            ("worker", world.api.script(say("never"))),
            wait_policy="fail_fast",
        )
        await until_running(world.sandbox.home, "perl -e sleep 300")
        await world.api.until(lambda calls: any(isinstance(call.step, Hang) for call in calls))
        (world.sandbox.dir / "go").touch()
        await over(world, reply)
        assert world.alive() == {}
    assert ends(world) == ["failed", "cancelled", "cancelled", "cancelled"]


async def test_a_child_over_its_time_is_ended_with_its_tool(world: World) -> None:
    named = world.api.script(bash(SLEEP), say("never"))
    quick = world.api.script(say("quick"))
    async with world.daemon():
        await over(world, await delegate(world, ("worker", named), ("worker", quick), timeout_s=6))
        assert world.alive() == {}
    assert ends(world) == ["timed_out", "finished"]


@on_both_versions
async def test_a_cancel_ends_the_whole_subtree_running_tools_included(world: World) -> None:
    world.settings = {"max_running": 2}
    deaf = f"trap '' TERM INT; setsid {SLEEP} & {SLEEP}"
    scripts = [world.api.script(bash(command)) for command in (SLEEP, deaf, SLEEP)]
    async with world.daemon():
        reply = await delegate(world, *[("worker", script) for script in scripts])
        await until_running(world.sandbox.home, "perl -e sleep 300")
        await world.api.until(lambda calls: len(calls) >= 2)
        cancelled = await world.must("interrupt", name=reply["delegation"])
        assert cancelled["ended"]
        assert world.alive() == {}
        assert any("sleep 300" in process["command"] for process in cancelled["processes"])
    assert ends(world) == ["cancelled"] * 3


async def test_a_rate_limit_in_one_child_leaves_what_the_others_did(world: World) -> None:
    """R32. The refusal shows in the state while claude waits."""
    world.environment = FEW_RETRIES
    limited = world.api.script(Fail(status=429, message="slow down"))
    done = world.api.script(say("done all the same"))
    async with world.daemon():
        reply = await delegate(world, ("worker", limited), ("worker", done))
        name = reply["names"][0]
        waits = None
        while waits is None:
            session = await world.must("status", name=name)
            assert session["state"] in ("starting", "running"), session
            waits = session["api_retry"]
        assert (waits["status"], waits["error"]) == (429, "rate_limit")
        assert waits["attempt"] >= 1
        assert waits["next_try_s"] >= 0
        await over(world, reply)
    assert ends(world) == ["failed", "finished"]
    (notice,) = world.notices()
    assert notice["children"][1]["result"] == "done all the same"
    assert "429" in notice["children"][0]["message"]
