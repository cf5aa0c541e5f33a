"""Events of real runs: who gets them, in which order, and that no reader slows a run."""

from __future__ import annotations

import json
import socket
from typing import Any

from support.daemon import Daemon
from support.processes import until
from support.stub import script, text

from delegation.handing import delegate, over, says


def events(daemon: Daemon) -> list[dict[str, Any]]:
    found = (daemon.root / "all").glob("*.subagent_*.json")
    return sorted((json.loads(f.read_bytes()) for f in found), key=lambda e: (e["at"], e["event"]))


def logged(daemon: Daemon) -> list[dict[str, Any]]:
    of_feed = [line for line in daemon.log.splitlines() if "outbox.event_feed" in line]
    lines = [line.partition(": ")[2] for line in of_feed]
    return [json.loads(line) for line in lines if line.startswith("{")]


async def test_a_sink_that_asks_is_told_of_each_beginning_and_end(world: Daemon) -> None:
    world.settings = {
        "todo_sinks": [f"dir:{world.state_dir / 'todos'}", f"dir:{world.root / 'all'}?events=1"]
    }
    world.start()
    plain = await world.run(says("plain"), "plain")
    delegation = await delegate(world, says("one"), script({"api_error": 529}))
    children = await over(world, delegation)
    await until(lambda: len(events(world)) == 6, "six events")

    for session in (plain, *children):
        name = session["name"]
        begun, ended = [event for event in events(world) if event["name"] == name]
        assert (begun["event"], ended["event"]) == ("subagent_started", "subagent_finished")
        assert begun["id"] == ended["id"]
        assert (begun["role"], begun["delegation"]) == (session["role"], session["delegation"])
        assert begun["session_id"] == session["session_id"]
        assert (begun["state"], ended["state"]) == (None, session["state"])
        assert ended["stop_reason"] == session["stop_reason"]
        assert ended["cost_usd"] == session["cost_usd"]
        assert ended["duration_s"] >= 0
    # the event of a plain run is that of its notice
    assert (await world.notice("plain"))["id"] in {event["id"] for event in events(world)}
    # one line of the log says each
    assert sorted(event["id"] for event in logged(world)) == sorted(
        event["id"] for event in events(world)
    )
    # whoever did not ask has notices alone
    assert not list((world.state_dir / "todos").glob("*.subagent_*.json"))


async def test_a_reader_that_never_answers_slows_nobody(world: Daemon) -> None:
    """Its socket takes the connection, and nothing more ever comes of it."""
    path = world.root / "silent.sock"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(path))
        silent.listen(1)
        world.settings = {
            "todo_sinks": [f"dir:{world.state_dir / 'todos'}", f"unix:{path}?events=1"]
        }
        world.start()
        for number in range(3):
            await world.run(script(text(str(number))))
        delegation = await delegate(world, says("x"), says("y"))
        assert [s["result"] for s in await over(world, delegation)] == ["x", "y"]
        assert len(logged(world)) == 10
        # what it was owed waits for it, bounded at the stop
        assert world.stop() == 0
