"""What is told of a delegation whose daemon stops, dies, or comes back."""

from __future__ import annotations

import json

import pytest
from support.daemon import Daemon
from support.owed import last_entry
from support.processes import gone, until
from support.stub import HANG, bash, script, text

from delegation.handing import delegate, ends, over, says, tasks, until_state

SLEEP = bash("perl -e 'sleep 100'")


async def half_done(world: Daemon) -> str:
    """A delegation of which one child has finished, one runs and one waits; its id."""
    world.settings = {"max_running": 1}
    world.start()
    delegation = await delegate(world, says("the first did it"), script(SLEEP), says("never"))
    await until_state(world, "worker-1", "idle")
    await world.in_tool("worker-2")
    return delegation


async def test_the_daemons_stop_cancels_the_whole_and_tells_it_once(world: Daemon) -> None:
    """R11, R17."""
    delegation = await half_done(world)
    assert world.stop() == 0
    assert world.children() == {}
    (notice,) = world.notices(delegation)
    assert [child["end"] for child in notice["children"]] == ["finished", "killed", "killed"]
    assert [child["cause"] for child in notice["children"]] == [None, "daemon_stop", "daemon_stop"]
    assert notice["children"][0]["result"] == "the first did it"
    assert "KILLED (the daemon stopped)" in notice["text"]
    assert len(world.notices()) == 1


async def test_a_crash_is_told_as_killed_with_what_had_ended_before(world: Daemon) -> None:
    """R17."""
    delegation = await half_done(world)
    left = world.children()
    world.kill()
    world.start()
    await gone(left)
    notice = await world.notice(delegation)
    assert notice["kind"] == "delegation"
    assert [child["end"] for child in notice["children"]] == ["finished", "killed", "killed"]
    assert "the first did it" in notice["text"]
    assert "KILLED" in notice["text"]
    assert len(world.notices()) == 1
    # each says the same of itself, and can go on
    session = await world.must("status", name="worker-2")
    assert (session["state"], session["cause"]) == ("killed", "daemon_stop")
    assert session["delegation"] == delegation
    await world.must("continue", name="worker-2", prompt=says("again"))
    assert (await world.ended("worker-2"))["result"] == "again"
    # the one that never began left nothing behind
    assert "worker-3" in await world.refused("status", name="worker-3")
    assert await ends(world, await delegate(world, says("x"))) == {"worker-3": "finished"}


async def test_a_crash_between_the_last_end_and_its_notice_tells_them_as_they_ended(
    world: Daemon,
) -> None:
    """R17. The promise on disk is put back to what it was when the last child ended."""
    world.start()
    delegation = await delegate(world, says("one"), says("two"))
    (promise,) = (world.state_dir / "owed").glob("*.json")
    kept = promise.read_bytes()
    assert last_entry(kept)["payload"]["name"] == delegation
    await over(world, delegation)
    notice = await world.notice(delegation)
    world.kill()
    (world.state_dir / "todos" / f"{notice['id']}.json").unlink()
    promise.write_bytes(kept)
    world.start()
    again = await world.notice(delegation)
    assert [child["end"] for child in again["children"]] == ["finished", "finished"]
    assert [child["result"] for child in again["children"]] == ["one", "two"]
    assert "KILLED" not in again["text"]
    assert again["id"] == notice["id"]


async def test_a_promise_that_cannot_be_read_is_told_all_the_same(world: Daemon) -> None:
    world.start()
    delegation = await delegate(world, script(HANG))
    (promise,) = (world.state_dir / "owed").glob("*.json")
    world.kill()
    entry = last_entry(promise.read_bytes())
    entry["payload"]["delegation"] = {"children": "gone"}
    promise.write_text(json.dumps(entry))
    world.start()
    notice = await world.notice(delegation)
    assert notice["children"] == []
    assert "KILLED" in notice["text"]


async def test_a_delegation_of_before_a_restart_is_not_known_but_its_children_are(
    world: Daemon,
) -> None:
    world.start()
    delegation = await delegate(world, says("one"))
    await over(world, delegation)
    world.restart()
    assert "notice" in await world.refused("wait", names=[delegation])
    assert (await world.must("status", name="worker-1"))["result"] == "one"


@pytest.mark.parametrize("later", ["idle", "running"])
async def test_a_child_that_went_on_is_told_apart_from_its_delegation(
    world: Daemon, later: str
) -> None:
    """R17. Its own run owes its own notice, whatever becomes of the delegation."""
    world.start()
    gate = world.gate()
    delegation = await delegate(world, says("first"), script(SLEEP))
    await until_state(world, "worker-1", "idle")
    await world.must(
        "continue", name="worker-1", prompt=script({"wait_file": str(gate)}, text("second"))
    )
    if later == "idle":
        gate.touch()
        await world.ended("worker-1")
    world.kill()
    world.start()
    own = await world.notice("worker-1")
    assert own["kind"] == ("finished" if later == "idle" else "killed")
    notice = await world.notice(delegation)
    assert [child["end"] for child in notice["children"]] == ["finished", "killed"]
    assert notice["children"][0]["result"] == "first"


@pytest.mark.parametrize("dies", [True, False])
async def test_a_child_whose_name_begins_anew_is_told_as_it_ended(
    world: Daemon, dies: bool
) -> None:
    """R17. The new session puts the child's transcript away, which is told where it is now."""
    world.start()
    gate = world.gate()
    delegation = await delegate(
        world, says("first"), script({"wait_file": str(gate)}, text("second"))
    )
    await until_state(world, "worker-1", "idle")
    assert (await world.run(says("another one"), "worker-1"))["result"] == "another one"
    if dies:
        world.kill()
        world.start()
    else:
        gate.touch()
    notice = await world.notice(delegation)
    child = notice["children"][0]
    assert (child["end"], child["result"]) == ("finished", "first")
    assert child["transcript"].endswith(f"{child['session_id']}.jsonl.archived")
    assert "never began" not in notice["text"]
    assert (await world.must("status", name="worker-1"))["result"] == "another one"


async def test_nothing_of_the_queue_begins_while_the_daemon_stops(world: Daemon) -> None:
    world.settings = {"max_running": 1, "shutdown_grace_s": 4.0}
    world.start()
    mark = world.gate()
    delegation = await delegate(
        world, script({"hang_deaf": True}), *[script({"touch": str(mark)}, text("x"))] * 5
    )
    await until_state(world, "worker-1", "running")
    assert world.stop() == 0
    assert not mark.exists()
    (notice,) = world.notices(delegation)
    assert len(notice["children"]) == 6
    await until(lambda: world.owed() == [])


async def test_what_a_child_was_not_told_before_the_crash_is_said(world: Daemon) -> None:
    world.start()
    gate = world.gate()
    does = script({"tool": "Look", "gate": str(gate)}, text("x"))
    reply = await world.must("delegate", tasks=tasks(does, name="steered"))
    await world.in_tool("steered")
    await world.must("intervene", name="steered", kind="info", text="the key is under the mat")
    world.kill()
    world.start()
    notice = await world.notice(reply["delegation"])
    assert "the key is under the mat" in notice["text"]
