"""The daemon as a process: ready, stopped by a signal, and what each leaves."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import stat
from pathlib import Path

import pytest
from support.daemon import Daemon
from support.processes import gone, until
from support.stub import HANG, bash, script

from hive_subagent import __version__
from hive_subagent.server.listening import listen


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_when_ready_it_says_where_it_is_in_a_private_file(daemon: Daemon) -> None:
    file = daemon.runtime_dir / "daemon.json"
    about = json.loads(file.read_bytes())
    assert daemon.process is not None
    assert about == {
        "url": daemon.url,
        "pid": daemon.process.pid,
        "instance": about["instance"],
        "version": __version__,
    }
    assert mode(file) == 0o600
    for private in (daemon.state_dir, daemon.runtime_dir, daemon.runtime_dir / "mcp"):
        assert mode(private) == 0o700, private
    for found in daemon.state_dir.rglob("*"):
        assert mode(found) & 0o077 == 0, found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
async def test_a_signal_ends_every_child_reports_each_ending_and_exits_with_0(
    world: Daemon, number: signal.Signals
) -> None:
    """R11, R17: gentle and deaf children, and tools in sessions of their own.

    Issue 9, 18: SIGHUP of a terminal that is closed, and SIGQUIT, killed the daemon alone.
    """
    world.start()
    pid_file = world.gate()
    names = [
        await world.begin(script(HANG)),
        await world.begin(script({"hang_deaf": True})),
        await world.begin(script(bash(f"setsid sleep 1000 & echo $! > {pid_file}; wait"))),
        await world.begin(script(HANG), goal="be done"),
    ]
    await until(lambda: pid_file.exists() and pid_file.read_text() != "")
    waits = asyncio.ensure_future(world.call("wait", timeout_s=60))
    children = world.children()
    assert int(pid_file.read_text()) in children
    assert len(children) >= 6
    await world.must("status")  # the wait before it has been taken up

    assert world.process is not None
    world.process.send_signal(number)

    answer = await waits
    assert answer.text.startswith("The daemon is stopping and ends its subagents.")
    assert {session["cause"] for session in answer.data["sessions"]} == {"daemon_stop"}
    assert world.process.wait(20) == 0
    await gone(children)
    notices = {notice["name"]: notice for notice in world.notices()}
    assert sorted(notices) == sorted(names)
    assert all("the daemon stopped" in notice["text"] for notice in notices.values())
    assert len(world.notices()) == len(names)
    assert world.owed() == []
    assert not (world.runtime_dir / "daemon.json").exists()
    assert list((world.runtime_dir / "mcp").iterdir()) == []
    if number != signal.SIGTERM:
        return
    world.start()
    for name in names:
        session = await world.must("status", name=name)
        assert (session["state"], session["cause"]) == ("killed", "daemon_stop")


async def test_while_it_stops_no_run_begins_and_no_second_signal_cuts_it_short(
    world: Daemon,
) -> None:
    """R11: an impatient service manager, or two times control-C."""
    world.start()
    name = await world.begin(script({"hang_deaf": True}))
    children = world.children()
    assert world.process is not None
    world.process.terminate()
    await until(lambda: "SIGTERM: stopping" in world.log)
    said = await world.refused("start", name="late", prompt_file=world.brief())
    assert "the daemon is stopping" in said
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        world.process.send_signal(number)
    assert world.process.wait(20) == 0
    await gone(children)
    assert [notice["kind"] for notice in world.notices(name)] == ["killed"]


async def test_a_daemon_under_nohup_outlives_its_terminal(world: Daemon) -> None:
    """Issue 9, 18: who ignores SIGHUP beforehand means it."""
    world.launcher = ("nohup",)
    world.start()
    name = await world.begin(script(HANG))
    assert world.process is not None
    world.process.send_signal(signal.SIGHUP)
    session = await world.must("status", name=name)
    assert session["state"] == "running"
    assert world.stop() == 0
    assert "SIGTERM: stopping" in world.log
    assert "SIGHUP" not in world.log


async def test_a_subagent_finds_programs_on_the_daemons_path(daemon: Daemon) -> None:
    """Issue 11, 7: a wrapper around the daemon put the daemon's own interpreter first."""
    found = daemon.gate()
    await daemon.run(script(bash(f'printf %s "$PATH" >{found}')))
    assert found.read_text() == daemon.base_environment["PATH"]


def test_answers_are_sent_at_once() -> None:
    """Else each answer but the first of a connection is 40 ms late; accepting inherits it."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        with socket.create_connection(listener.socket.getsockname()):
            accepted, _ = listener.socket.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
