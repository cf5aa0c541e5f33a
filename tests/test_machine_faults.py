"""What a daemon says after faults of the machine that it runs on: nothing else than before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from delegation.handing import delegate, over
from support import rpc
from support.daemon import Daemon
from support.faults import SmallDisk, small_disk
from support.processes import gone, until
from support.stub import HANG, bash, script, text


@pytest.fixture
def disk(world: Daemon) -> Iterator[SmallDisk]:
    with small_disk(world.state_dir) as made:
        yield made
        if world.process is not None and world.process.poll() is None:
            assert world.stop() == 0, world.log
        assert "Traceback" not in world.log, world.log


def health(world: Daemon) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(rpc.request(f"{world.url}/healthz").body)
    return told


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_a_run_that_ended_on_a_full_disk_is_not_reported_as_killed_later(
    disk: SmallDisk, world: Daemon, end: str
) -> None:
    """Issue 10, 3: after a clean SIGTERM, too."""
    world.start()
    gate = world.gate()
    # its notice does not fit into what is left of the last block of its promise
    answer = "the answer " + "x" * 7000
    name = await world.begin(script({"wait_file": str(gate)}, text(answer)))
    with disk.kept_full():
        gate.touch()
        ended = await world.ended(name)
        assert (ended["stop_reason"], ended["result"]) == ("turn_ended", answer)
        assert "make room" in await world.refused("start", name="other", prompt_file=world.brief())
        if end == "kill":
            world.kill()
        else:
            assert world.stop() == 0
    world.start()
    notice = await world.notice(name)
    assert notice["kind"] == "finished"
    assert answer in notice["text"]
    assert (await world.must("status", name=name))["result"] == answer
    world.restart()
    assert (await world.must("status", name=name))["result"] == answer
    assert health(world)["unsaved"] == 0


async def test_what_a_full_disk_refused_is_saved_once_there_is_room(
    disk: SmallDisk, world: Daemon
) -> None:
    """Issue 10, 3."""
    world.start()
    gate = world.gate()
    name = await world.begin(script({"wait_file": str(gate)}, text("the answer")))
    with disk.kept_full():
        gate.touch()
        await world.ended(name)
    assert (await world.notice(name))["kind"] == "finished"
    await until(lambda: health(world)["unsaved"] == 0)
    world.restart()
    assert (await world.must("status", name=name))["result"] == "the answer"
    assert len(world.notices(name)) == 1


async def test_a_child_that_ended_on_a_full_disk_has_ended_for_the_next_daemon(
    disk: SmallDisk, world: Daemon
) -> None:
    """Issue 10, 3: its delegation's promise holds what its record does not."""
    world.start()
    gate = world.gate()
    delegation = await delegate(
        world, script({"wait_file": str(gate)}, text("the first did it")), script(HANG)
    )
    await until(lambda: len(world.children()) >= 2)
    for name in ("worker-1", "worker-2"):
        await until_running(world, name)
    with disk.kept_full():
        gate.touch()
        assert (await world.ended("worker-1"))["result"] == "the first did it"
        left = world.children()
        world.kill()
    world.start()
    await gone(left)
    notice = await world.notice(delegation)
    assert [child["end"] for child in notice["children"]] == ["finished", "killed"]
    assert (await world.must("status", name="worker-1"))["result"] == "the first did it"


async def until_running(world: Daemon, name: str) -> None:
    while (await world.must("status", name=name))["state"] != "running":
        pass


async def test_processes_are_found_by_what_is_owed_where_the_identity_is_lost(
    world: Daemon,
) -> None:
    """Issue 10, 6: the notice said KILLED, and the process lived on."""
    world.start()
    name = await world.begin(script(bash("setsid sleep 1000 & wait")))
    await world.in_tool(name)
    children = world.children()
    assert len(children) >= 2
    world.kill()
    identity = (world.state_dir / "identity").read_text()
    (world.state_dir / "identity").unlink()
    world.start()
    await gone(children)
    assert (await world.notice(name))["kind"] == "killed"
    assert (world.state_dir / "identity").read_text() == identity


async def test_an_identity_that_was_emptied_is_found_again_too(world: Daemon) -> None:
    """Issue 10, 6."""
    world.start()
    name = await world.begin(script(HANG))
    children = world.children()
    world.kill()
    (world.state_dir / "identity").write_text("")
    world.start()
    await gone(children)
    assert (await world.notice(name))["kind"] == "killed"


async def test_health_counts_what_is_not_as_it_should_be(world: Daemon) -> None:
    """Issue 10, 1."""
    owed = world.state_dir / "owed"
    owed.mkdir(parents=True)
    (owed / "r1.json").write_text("{")
    (owed / "r2.json").write_text('{"version": 2, "state": "running", "payload": {}}\n')
    world.settings["todo_sinks"] = [f"unix:{world.root / 'nobody.sock'}"]
    world.start()
    await world.run(script(text("x")))
    told = health(world)
    counts = {key: told[key] for key in ("set_aside", "unread", "unsaved", "notices_waiting")}
    assert counts == {"set_aside": 1, "unread": 1, "unsaved": 0, "notices_waiting": 1}
    assert (owed / "r1.json.broken").exists()
    assert (owed / "r2.json").exists()


async def test_a_child_that_was_given_up_is_out_of_claudes_sight(
    disk: SmallDisk, world: Daemon
) -> None:
    """Issue 10, 2: it went on under its title, with the daemon's full permission."""
    world.start()
    gate = world.gate()
    waits = script(text("never"), before_init=[{"wait_file": str(gate)}])
    delegation = await delegate(world, waits)
    await until(lambda: len(world.children()) >= 1)
    with disk.kept_full():
        gate.touch()
        [child] = await over(world, delegation)
    assert (child["state"], child["turn"]) == ("failed", 0)
    world.restart()
    assert world.transcripts() == []
    assert "claude did not resume `worker-1`" in await world.refused(
        "continue", name="worker-1", prompt="go on"
    )
