"""What the real CLI lets a child do: never more than its role, never more than its parent."""

from __future__ import annotations

import json

import pytest

from e2e.extra_mcp import extra_server
from e2e.ground import Ground, share
from e2e.handing import delegate, over
from e2e.script import bash, say, use
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e

READERS = ["planner", "researcher", "reviewer", "scout"]
READING = {"Read", "Grep", "Glob", "WebFetch", "WebSearch"}
# how 2.1.332 keeps tools it has out of the first request
DEFERRING = {"DeferredToolPlaceholder", "ToolSearch"}


@on_both_versions
@pytest.mark.parametrize("role", READERS)
async def test_a_role_that_reads_cannot_write_by_any_way(world: World, role: str) -> None:
    """R29."""
    ground = Ground(world)
    named = world.api.script(*ground.attempts(), say("tried it all"))
    async with extra_server() as extra:
        share(world, extra)
        async with world.daemon():
            (session,) = await over(world, await delegate(world, (role, named)))
            assert session["result"] == "tried it all"
            # it goes on under the same ceiling
            again = world.api.script(*ground.attempts(), say("tried again"))
            await world.must("continue", name=session["name"], prompt=again)
            assert (await world.ended(session["name"]))["result"] == "tried again"
        assert extra.heard == []
    assert ground.changed == set()
    for script in (named, again):
        calls = world.api.of(script)
        assert len(calls) == len(ground.attempts()) + 1
        for call in calls:
            assert set(call.tools) <= {*READING, *DEFERRING}
        results = json.dumps(calls[-1].body["messages"])
        assert "NEAR" in results  # it did read


@on_both_versions
async def test_a_worker_writes_and_hands_nothing_on(world: World) -> None:
    target = world.sandbox.dir / "new.txt"
    named = world.api.script(
        use("Write", file_path=str(target), content="written"),
        bash("echo shell > shell.txt"),
        use("mcp__shared__tell", words="hello"),
        use("Agent", description="x", prompt="[[script s9]]", subagent_type="general-purpose"),
        say("done"),
    )
    async with extra_server() as extra:
        share(world, extra)
        async with world.daemon():
            (session,) = await over(world, await delegate(world, ("worker", named)))
        assert extra.heard == ["hello"]
    assert session["result"] == "done"
    assert target.read_text() == "written"
    assert (world.sandbox.dir / "shell.txt").read_text() == "shell\n"
    for call in world.api.of(named):
        assert {"Agent", "Task", "Workflow", "SendMessage"}.isdisjoint(call.tools)
    assert "No such tool available: Agent" in json.dumps(world.api.of(named)[-1].body)
    assert "You are a worker" in world.api.of(named)[0].system


@on_both_versions
async def test_a_reader_under_a_confined_parent_reads_no_further_than_that(world: World) -> None:
    """R29. Claude's own plan mode reads beyond its directories, this parent does not."""
    ground = Ground(world)
    world.settings = {"permission_mode": "acceptEdits"}
    named = world.api.script(
        use("Read", file_path=str(ground.outside / "far.txt")),
        use("Grep", pattern="FAR", path=str(ground.outside), output_mode="content"),
        *ground.attempts(),
        say("tried it all"),
    )
    async with world.daemon():
        (session,) = await over(world, await delegate(world, ("scout", named)))
    assert session["result"] == "tried it all"
    assert ground.changed == set()
    results = json.dumps(world.api.of(named)[-1].body["messages"])
    assert "NEAR" in results
    assert "FAR\\n" not in results
    assert "far.txt:1" not in results


async def test_a_reader_under_a_free_parent_reads_beyond_its_directory(world: World) -> None:
    ground = Ground(world)
    named = world.api.script(
        use("Read", file_path=str(ground.outside / "far.txt")),
        use("Grep", pattern="FAR", path=str(ground.outside), output_mode="content"),
        say("read"),
    )
    async with world.daemon():
        await over(world, await delegate(world, ("scout", named)))
    results = json.dumps(world.api.of(named)[-1].body["messages"])
    assert "FAR\\n" in results
    assert "far.txt:1" in results


@on_both_versions
async def test_a_worker_writes_no_more_than_its_parent_may(world: World) -> None:
    """R29."""
    ground = Ground(world)
    world.settings = {"permission_mode": "dontAsk"}
    named = world.api.script(*ground.attempts(), say("tried it all"))
    async with world.daemon():
        (session,) = await over(world, await delegate(world, ("worker", named)))
    assert session["result"] == "tried it all"
    assert ground.changed == set()


@on_both_versions
async def test_a_goal_can_be_reported_in_plan_mode(world: World) -> None:
    named = world.api.script(say("looked"))
    reached = world.api.script(use("mcp__signal__goal_reached", summary="found"), say("there"))
    async with world.daemon():
        (session,) = await over(world, await delegate(world, ("scout", named)))
        await world.must("continue", name=session["name"], prompt=reached, goal="find it")
        session = await world.ended(session["name"])
    assert (session["stop_reason"], session["message"]) == ("goal_reached", "found")
