"""Runs that are cut: by an interrupt, a signal, the daemon's stop and the daemon's death."""

from __future__ import annotations

import os
import signal

import pytest
from support.processes import until

from e2e import processes
from e2e.install import CURRENT, OLDER
from e2e.script import Fail, Hang, Say, Use, bash, say
from e2e.versions import on_both_versions
from e2e.world import World

pytestmark = pytest.mark.e2e

QUIET_TOOL = "perl -e 'sleep 300'"
STUBBORN_TOOL = "perl -e '$SIG{INT} = $SIG{TERM} = q(IGNORE); sleep 300; sleep 300'"


async def _in_tool(world: World, name: str, command: str, **arguments: str) -> int:
    """Start a run that sits in a shell tool; claude's pid."""
    reply = await world.start(name, world.api.script(bash(command)), **arguments)
    await processes.until_running(world.sandbox.home, "perl -e")
    return int(reply["pid"])


def _is_in_transcript(world: World, words: str) -> bool:
    files = world.sandbox.config.glob("projects/*/*.jsonl")
    return any(words in file.read_text() for file in files)


def _says_and_runs(words: str, command: str) -> Say:
    call = Use("Bash", {"command": command, "description": "scripted"})
    return Say(text=words, tools=(call,))


@pytest.mark.parametrize(
    ("version", "in_stream"),
    [(CURRENT, False), (CURRENT, True), (OLDER, False)],
    indirect=["version"],
)
async def test_an_interrupt_ends_a_run_that_waits_for_the_api(
    world: World, in_stream: bool
) -> None:
    named = world.api.script(Hang(in_stream=in_stream))
    async with world.daemon():
        await world.start("lint", named)
        await world.api.until(lambda calls: len(calls) > 0)
        reply = await world.must("interrupt", name="lint")
        session = await world.ended("lint")
        assert (reply["forced"], reply["ended"]) == (False, True)
        assert (session["state"], session["cause"]) == ("killed", "interrupt")
        again = await world.must("continue", name="lint", prompt=world.api.script(say("back")))
        assert again["previous"]["cause"] == "interrupt"
        assert (await world.ended("lint"))["result"] == "back"
    assert [notice["kind"] for notice in world.notices()] == ["killed", "finished"]


@on_both_versions
@pytest.mark.parametrize("command", [QUIET_TOOL, STUBBORN_TOOL])
async def test_an_interrupt_in_a_shell_tool_leaves_nothing_alive(
    world: World, command: str
) -> None:
    """R10. 2.1.197 leaves a tool alive that ignores SIGINT and SIGTERM; the sweep finds it."""
    async with world.daemon():
        await _in_tool(world, "lint", command)
        status = await world.must("status", name="lint")
        assert status["open_tool"]["name"] == "Bash"
        await world.must("interrupt", name="lint")
        session = await world.ended("lint")
        assert world.alive() == {}
    assert (session["state"], session["cause"]) == ("killed", "interrupt")


@on_both_versions
@pytest.mark.parametrize("how", ["interrupt", "SIGKILL", "API error"])
async def test_what_it_said_last_is_told_and_what_it_does_now(world: World, how: str) -> None:
    """Issue 9, 33."""
    command = "true" if how == "API error" else QUIET_TOOL
    named = world.api.script(
        _says_and_runs("I look first", "true"),
        _says_and_runs("Two fail, I fix them", command),
        Fail(status=400, message="no-more"),
    )
    async with world.daemon():
        reply = await world.start("lint", named)
        if how != "API error":
            await processes.until_running(world.sandbox.home, "perl -e")
            status = await world.must("status", name="lint")
            assert status["open_tool"]["input"] == QUIET_TOOL
        if how == "interrupt":
            await world.must("interrupt", name="lint")
        elif how == "SIGKILL":
            os.kill(reply["pid"], signal.SIGKILL)
        session = await world.ended("lint")
    assert session["state"] == ("failed" if how == "API error" else "killed")
    assert session["last_text"] == "Two fail, I fix them"
    [notice] = world.notices()
    assert "The last that it said:\n> Two fail, I fix them" in notice["text"]


async def test_a_forced_interrupt_ends_the_whole_tree_and_says_what_died(world: World) -> None:
    async with world.daemon():
        pid = await _in_tool(world, "lint", STUBBORN_TOOL)
        reply = await world.must("interrupt", name="lint", force=True)
        session = await world.ended("lint")
        assert world.alive() == {}
    assert (reply["forced"], reply["ended"]) == (True, True)
    assert pid in [process["pid"] for process in reply["processes"]]
    assert any(process["command"].startswith("perl -e") for process in reply["processes"])
    assert (session["state"], session["cause"]) == ("killed", "interrupt")


@on_both_versions
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_signal_from_outside_is_told_by_name_and_leaves_nothing_alive(
    world: World, number: signal.Signals
) -> None:
    """2.1.197 orphans the tool on SIGTERM, 2.1.332 on SIGKILL only."""
    async with world.daemon():
        pid = await _in_tool(world, "lint", QUIET_TOOL)
        # 2.1.197 writes its transcript with a delay, and without one there is nothing to resume
        await until(lambda: _is_in_transcript(world, '"assistant"'), "the transcript")
        os.kill(pid, number)
        session = await world.ended("lint")
        assert world.alive() == {}
        assert (session["state"], session["cause"]) == ("killed", "signal")
        assert session["signal"] == number.name
        again = await world.must("continue", name="lint", prompt=world.api.script(say("back")))
        assert again["previous"]["signal"] == number.name
        assert (await world.ended("lint"))["result"] == "back"


@on_both_versions
async def test_a_sigint_from_outside_is_never_a_finish(world: World) -> None:
    """claude exits 0 after it, mostly without any result line."""
    named = world.api.script(Hang())
    async with world.daemon():
        reply = await world.start("lint", named)
        await world.api.until(lambda calls: len(calls) > 0)
        os.kill(reply["pid"], signal.SIGINT)
        session = await world.ended("lint")
    assert session["state"] in ("killed", "failed")
    assert [notice["kind"] for notice in world.notices()] == [session["state"]]


async def test_a_detached_child_does_not_outlive_a_run_that_finished(world: World) -> None:
    """R10."""
    detached = "setsid nohup perl -e 'sleep 300' >/dev/null 2>&1 & echo started"
    async with world.daemon():
        await world.start("lint", world.api.script(bash(detached), say("done")))
        session = await world.ended("lint")
        assert world.alive() == {}
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "done")


async def test_the_daemons_stop_ends_a_run_and_tells_of_it(world: World) -> None:
    """R11."""
    async with world.daemon() as daemon:
        await _in_tool(world, "lint", QUIET_TOOL)
        daemon.terminate()
        assert await daemon.wait() == 0
    assert world.alive() == {}
    [notice] = world.notices()
    assert notice["kind"] == "killed"


@on_both_versions
async def test_a_killed_daemon_is_made_good_for_by_the_next_one(world: World) -> None:
    """R11, R17. Nothing is left alive, the notice comes, and `continue` needs no `dir`."""
    elsewhere = world.sandbox.root / "elsewhere"
    elsewhere.mkdir()
    async with world.daemon() as daemon:
        await _in_tool(world, "lint", QUIET_TOOL, dir=str(elsewhere))
        daemon.kill()
        await daemon.wait()
        assert world.alive()
    async with world.daemon():
        assert world.alive() == {}
        status = await world.must("status", name="lint")
        assert (status["state"], status["cause"]) == ("killed", "daemon_stop")
        reply = await world.must("continue", name="lint", prompt=world.api.script(say("back")))
        session = await world.ended("lint")
    assert (reply["dir"], reply["previous"]["cause"]) == (str(elsewhere), "daemon_stop")
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "back")
    assert [notice["kind"] for notice in world.notices()] == ["killed", "finished"]
