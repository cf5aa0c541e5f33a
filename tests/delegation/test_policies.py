"""When a delegation is over: policies, times, cancels, and what is left alive (nothing)."""

from __future__ import annotations

import json

import pytest
from support.daemon import Daemon
from support.processes import until
from support.stub import HANG, bash, script, text

from delegation.handing import delegate, ends, over, says, tasks, until_state

SLEEP = bash("perl -e 'sleep 100'")
FAILS = script({"api_error": 529})
DIES = script({"die": "SIGKILL"})


async def test_with_all_a_failure_leaves_the_others_to_their_work(daemon: Daemon) -> None:
    gate = daemon.gate()
    reply = await daemon.must(
        "delegate", tasks=tasks(FAILS, DIES, script({"wait_file": str(gate)}, text("done")))
    )
    names = reply["names"]
    for name in names[:2]:
        await until_state(daemon, name, "failed", "killed")
    assert (await daemon.must("status", name=names[2]))["state"] == "running"
    assert daemon.notices(reply["delegation"]) == []
    gate.touch()
    found = await ends(daemon, reply["delegation"])
    assert list(found.values()) == ["failed", "killed", "finished"]


@pytest.mark.parametrize(("bad", "how"), [(FAILS, "failed"), (DIES, "killed")])
async def test_with_fail_fast_the_first_bad_end_cancels_the_others_and_the_queue(
    world: Daemon, bad: str, how: str
) -> None:
    world.settings = {"max_running": 3}
    world.start()
    gate = world.gate()
    waits_then = bad.replace('{"steps": [', f'{{"steps": [{{"wait_file": "{gate}"}}, ')
    delegation = await delegate(
        world, waits_then, script(SLEEP), script(HANG), says("never"), wait_policy="fail_fast"
    )
    await world.in_tool("worker-2")
    await until_state(world, "worker-3", "running")
    gate.touch()
    found = await ends(world, delegation)
    assert list(found.values()) == [how, "cancelled", "cancelled", "cancelled"]
    assert world.children() == {}
    notice = await world.notice(delegation)
    assert "first failure" in notice["text"]
    assert notice["children"][1]["cause"] == "cancelled"
    session = await world.must("status", name="worker-4")
    assert (session["state"], session["cause"], session["turn"]) == ("killed", "cancelled", 0)
    assert "never began" in (await world.call("status", name="worker-4")).data["text"]


async def test_with_fail_fast_and_no_failure_every_child_finishes(daemon: Daemon) -> None:
    delegation = await delegate(daemon, says("one"), says("two"), wait_policy="fail_fast")
    assert set((await ends(daemon, delegation)).values()) == {"finished"}


async def test_nobody_begins_after_the_first_failure(world: Daemon) -> None:
    """The place that the failed child gives back is not for the next in the queue."""
    world.settings = {"max_running": 1}
    world.start()
    marks = [world.gate() for _ in range(3)]
    later = [script({"touch": str(mark)}, text("x")) for mark in marks]
    delegation = await delegate(world, FAILS, *later, wait_policy="fail_fast")
    assert list((await ends(world, delegation)).values()) == ["failed", *["cancelled"] * 3]
    assert not any(mark.exists() for mark in marks)


async def test_a_child_over_its_time_is_ended_and_counts_as_failed(daemon: Daemon) -> None:
    reply = await daemon.must(
        "delegate",
        tasks=tasks(script(SLEEP), script({"hang_deaf": True}), says("quick")),
        timeout_s=1.5,
    )
    found = await ends(daemon, reply["delegation"])
    assert list(found.values()) == ["timed_out", "timed_out", "finished"]
    assert daemon.children() == {}
    session = await daemon.must("status", name=reply["names"][0])
    assert (session["state"], session["cause"]) == ("killed", "timeout")


async def test_a_timeout_is_a_failure_for_fail_fast_too(daemon: Daemon) -> None:
    reply = await daemon.must(
        "delegate", tasks=tasks(script(HANG)), timeout_s=0.5, wait_policy="fail_fast"
    )
    assert list((await ends(daemon, reply["delegation"])).values()) == ["timed_out"]


async def test_time_in_the_queue_does_not_count(world: Daemon) -> None:
    world.settings = {"max_running": 1}
    world.start()
    gate = world.gate()
    await world.begin(script({"wait_file": str(gate)}, text("x")), "first")
    delegation = await delegate(world, says("done"), timeout_s=1.5)
    # longer than a child has, with the only place taken
    assert not (await world.must("wait", names=[delegation], timeout_s=2))["done"]
    assert (await world.must("status", name="worker-1"))["state"] == "queued"
    gate.touch()
    assert await ends(world, delegation) == {"worker-1": "finished"}


async def test_no_more_run_at_once_than_may(world: Daemon) -> None:
    world.settings = {"max_running": 2}
    world.start()
    gates = [world.gate() for _ in range(5)]
    delegation = await delegate(world, *(script({"wait_file": str(g)}, text("x")) for g in gates))
    for number, gate in enumerate(gates, 1):
        await until_state(world, f"worker-{number}", "running")
        states = [s["state"] for s in (await world.must("status", name=delegation))["sessions"]]
        assert states.count("queued") == max(0, 5 - number - 1)
        assert sum(state in ("starting", "running") for state in states) <= 2
        if number < 5:
            given = {"name": "other", "prompt_file": world.brief()}
            assert "max_running" in await world.refused("start", **given)
        gate.touch()
        await until_state(world, f"worker-{number}", "idle")
    assert set((await ends(world, delegation)).values()) == {"finished"}


@pytest.mark.parametrize("force", [False, True])
async def test_an_interrupt_of_the_delegation_cancels_all_of_it(world: Daemon, force: bool) -> None:
    world.settings = {"max_running": 2}
    world.start()
    delegation = await delegate(world, script(SLEEP), script({"hang_deaf": True}), says("x"))
    await world.in_tool("worker-1")
    await until_state(world, "worker-2", "running")
    reply = await world.must("interrupt", name=delegation, force=force)
    assert (reply["name"], reply["ended"], reply["forced"]) == (delegation, True, force)
    assert any("sleep 100" in process["command"] for process in reply["processes"])
    assert world.children() == {}
    notice = await world.notice(delegation)
    assert [child["end"] for child in notice["children"]] == ["cancelled"] * 3
    assert "cancelled by its owner" in notice["text"]
    assert "is over" in await world.refused("interrupt", name=delegation)
    # it has made room for another
    assert await ends(world, await delegate(world, says("y"))) == {"worker-4": "finished"}


async def test_a_cancel_that_comes_at_once_finds_children_that_have_hardly_begun(
    daemon: Daemon,
) -> None:
    for _ in range(3):
        delegation = await delegate(daemon, *[script(HANG)] * 4)
        await daemon.must("interrupt", name=delegation)
        notice = await daemon.notice(delegation)
        assert [child["end"] for child in notice["children"]] == ["cancelled"] * 4
    assert daemon.children() == {}


async def test_one_child_can_be_taken_out_running_or_queued(world: Daemon) -> None:
    world.settings = {"max_running": 1}
    world.start()
    gate = world.gate()
    delegation = await delegate(
        world, script({"wait_file": str(gate)}, text("x")), script(HANG), says("z")
    )
    reply = await world.must("interrupt", name="worker-3")
    assert (reply["ended"], reply["processes"]) == (True, [])
    session = await world.must("status", name="worker-3")
    assert (session["state"], session["cause"]) == ("killed", "cancelled")
    gate.touch()
    await until_state(world, "worker-2", "running")
    await world.must("interrupt", name="worker-2")
    found = await ends(world, delegation)
    assert found == {"worker-1": "finished", "worker-2": "killed", "worker-3": "cancelled"}


async def test_a_child_that_was_done_when_the_cancel_came_stays_finished(daemon: Daemon) -> None:
    mark, gate = daemon.gate(), daemon.gate()
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "done"}
    answered = script({"raw": json.dumps(result) + "\n"}, {"touch": str(mark)}, HANG)
    fails = script({"wait_file": str(gate)}, {"api_error": 529})
    reply = await daemon.must("delegate", tasks=tasks(answered, fails), wait_policy="fail_fast")
    await until(mark.exists, "the answer")
    gate.touch()
    assert list((await ends(daemon, reply["delegation"])).values()) == ["finished", "failed"]
    (first, _) = (await daemon.notice(reply["delegation"]))["children"]
    assert first["result"] == "done"


async def test_an_owners_stop_ends_one_child_and_is_no_failure(daemon: Daemon) -> None:
    gate = daemon.gate()
    stopped = script({"tool": "Look", "gate": str(gate)}, HANG)
    reply = await daemon.must(
        "delegate", tasks=tasks(stopped, says("fine")), wait_policy="fail_fast"
    )
    await daemon.in_tool(reply["names"][0])
    await daemon.must("intervene", name=reply["names"][0], kind="stop", text="found elsewhere")
    gate.touch()
    assert list((await ends(daemon, reply["delegation"])).values()) == ["stopped", "finished"]


async def test_one_child_more_or_less_does_not_matter_to_plain_runs(world: Daemon) -> None:
    """A plain run that ends makes room for the queue, and one can begin beside a delegation."""
    world.settings = {"max_running": 2}
    world.start()
    gate = world.gate()
    await world.begin(script({"wait_file": str(gate)}, text("plain")), "plain")
    delegation = await delegate(world, script(HANG), says("queued"))
    await until_state(world, "worker-1", "running")
    assert (await world.must("status", name="worker-2"))["state"] == "queued"
    gate.touch()
    await world.ended("worker-2")
    await world.run(says("another"), "another")
    await world.must("interrupt", name=delegation)
    assert len(await over(world, delegation)) == 2
