"""Stopping a run: the ladder, its receipts, and what a turn that was done keeps."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from support.daemon import Daemon
from support.house import House, house
from support.processes import gone, is_alive, until
from support.stub import HANG, OLD, bash, script, text, turns

from hive_subagent.claude.conversation import Conversation
from hive_subagent.errors import Refused
from hive_subagent.models.session import Cause
from hive_subagent.sessions.lifecycle import LiveSession

SLEEP = "perl -e 'sleep 100'"


async def in_tool(live: LiveSession) -> None:
    await until(lambda: live.view().open_tool is not None, "a tool")


async def pid_in(file: Path) -> int:
    await until(file.exists, str(file))
    return int(await anyio.Path(file).read_text())


async def test_a_gentle_interrupt_takes_the_tool_along_and_gives_receipts(home: House) -> None:
    """R10: the tool and its child have a session of their own."""
    pid_file = home.gate()
    live = await home.begin(
        script(
            bash(f"setsid {SLEEP} & echo $! > {pid_file}.new; mv {pid_file}.new {pid_file}; wait")
        )
    )
    grandchild = await pid_in(pid_file)

    reply, said = await home.service.interrupt("agent")

    assert not is_alive(grandchild)
    assert reply.ended
    assert not reply.forced
    died = {process.pid: process.command for process in reply.processes}
    assert live.run is not None
    assert live.run.claude is not None
    assert live.run.claude.pid in died
    assert "sleep 100" in died[grandchild]
    assert "stopped gently" in said
    assert f"{grandchild} " in said
    (notice,) = await home.notices()
    assert notice["kind"] == "killed"
    assert "interrupted" in notice["text"]


async def test_a_tool_that_an_old_claude_leaves_behind_is_ended_all_the_same(home: House) -> None:
    """R10: 2.1.197 leaves a tool alive that ignores signals."""
    pid_file = home.gate()
    deaf = (
        f"trap '' INT TERM; echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; {SLEEP}; true"
    )
    await home.begin(script(bash(deaf), version=OLD))
    tool = await pid_in(pid_file)
    await home.service.interrupt("agent")
    assert not is_alive(tool)


async def test_a_deaf_child_is_asked_then_signalled_then_killed(tmp_path: Path) -> None:
    """R13: never at once with SIGKILL, which leaves lock files behind."""
    async with house(tmp_path, interrupt_grace_s=0.2) as home:
        rungs: list[str] = []
        live = await home.begin(script({"hang_deaf": True}))
        assert live.run is not None
        claude = live.run.claude
        assert claude is not None
        ask, send = claude.ask_to_stop, claude.signal

        def noted_ask() -> None:
            rungs.append("ask")
            ask()

        def noted_signal(number: signal.Signals) -> None:
            rungs.append(number.name)
            send(number)

        claude.ask_to_stop = noted_ask  # type: ignore[method-assign]
        claude.signal = noted_signal  # type: ignore[method-assign]

        reply, _ = await home.service.interrupt("agent")

        assert rungs == ["ask", "SIGINT", "SIGTERM"]
        assert claude.pid in [process.pid for process in reply.processes]
        view = await home.ended()
        assert (view.state, view.cause, view.signal) == ("killed", "interrupt", "SIGKILL")


async def test_a_claude_that_ignores_the_request_still_hears_sigint(tmp_path: Path) -> None:
    async with house(tmp_path, interrupt_grace_s=0.2) as home:
        live = await home.begin(script({"ignore_interrupt": True}, bash(SLEEP)))
        await in_tool(live)
        await home.service.interrupt("agent")
        view = await home.ended()
        assert (view.state, view.cause, view.signal) == ("killed", "interrupt", None)


async def test_a_stopped_process_is_ended_too(tmp_path: Path) -> None:
    """It hears of no signal but SIGKILL."""
    async with house(tmp_path, interrupt_grace_s=0.2) as home:
        live = await home.begin(script(text("x"), {"die": "SIGSTOP"}))
        assert live.run is not None
        assert live.run.claude is not None
        stat_file = Path(f"/proc/{live.run.claude.pid}/stat")
        await until(lambda: stat_file.read_text().rpartition(")")[2].split()[0] == "T")
        _, said = await home.service.interrupt("agent")
        assert "`agent` was stopped by SIGKILL in the end" in said
        view = await home.ended()
        assert (view.cause, view.signal) == ("interrupt", "SIGKILL")


async def test_force_goes_straight_to_the_tree(tmp_path: Path) -> None:
    """The grace is an hour here, so any other rung would hang."""
    async with house(tmp_path, interrupt_grace_s=3600) as home:
        await home.begin(script(HANG))
        with anyio.fail_after(20):
            reply, said = await home.service.interrupt("agent", force=True)
        assert reply.forced
        assert "by force" in said
        view = await home.ended()
        assert (view.cause, view.signal) == ("interrupt", "SIGKILL")


async def test_force_hurries_a_gentle_interrupt_that_is_under_way(tmp_path: Path) -> None:
    async with house(tmp_path, interrupt_grace_s=3600) as home:
        live = await home.begin(script({"hang_deaf": True}))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(home.service.interrupt, "agent")
            await until(lambda: live.run is not None and live.run.stopped_by is not None)
            with anyio.fail_after(20):
                await home.service.interrupt("agent", force=True)
        assert len(await home.notices()) == 1


async def test_an_interrupt_after_the_result_leaves_the_turn_finished(tmp_path: Path) -> None:
    """R6: the process lingers, its answer is there already."""
    async with house(tmp_path, exit_grace_s=3600) as home:
        live = await home.begin(script({"linger": True}, text("done")))
        conversation = _conversation(live)
        await until(lambda: conversation.last_result is not None)
        _, said = await home.service.interrupt("agent")
        view = await home.ended()
        assert (view.state, view.stop_reason, view.result) == ("idle", "turn_ended", "done")
        assert "had ended before that took effect" in said
        (notice,) = await home.notices()
        assert notice["kind"] == "finished"


async def test_an_interrupt_between_two_turns_of_a_goal_is_an_interrupt(home: House) -> None:
    """R14: at the very moment of a result, before the next turn goes in."""
    gate = home.gate()
    first = [{"wait_file": str(gate)}, text("half")]
    live = await home.begin(turns(first, [HANG]), goal="be done", max_turns=9)
    conversation = _conversation(live)
    told = conversation.on_change

    def stop_at_the_result() -> None:
        if conversation.last_result is not None and live.run is not None:
            live.run.stop(Cause.INTERRUPT, step_s=0.5)
        told()

    conversation.on_change = stop_at_the_result
    gate.touch()
    view = await home.ended()
    assert (view.state, view.cause, view.turn) == ("killed", "interrupt", 1)


async def test_an_interrupt_in_the_moment_of_the_start_stops_it(home: House) -> None:
    """The call before it has only reserved the name, and there is no process yet."""
    brief = home.brief(script(HANG))

    async def interrupt() -> None:
        # the paths of a call are looked at in a thread before its name is reserved
        while home.executor.registry.running("agent") is None:
            await anyio.lowlevel.checkpoint()
        await home.service.interrupt("agent")

    start = home.service.start("agent", brief)
    with anyio.fail_after(20):
        results = await asyncio.gather(start, interrupt(), return_exceptions=True)
    assert isinstance(results[0], Refused)
    assert "agent" in str(results[0])
    assert not isinstance(results[1], BaseException)
    assert home.left_behind() == {}
    assert not os.listdir(home.root / "state" / "owed")


async def test_an_interrupt_before_the_first_event_makes_the_start_an_error(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, resume_confirm_s=3600) as home:
        gate = home.gate()
        brief = home.brief(script(at_start=[{"touch": str(gate)}, HANG]))
        start = asyncio.ensure_future(home.service.start("agent", brief))
        await until(gate.exists)
        reply, said = await home.service.interrupt("agent")
        assert "had not said anything yet" in said
        assert len(reply.processes) == 1
        with pytest.raises(Refused, match="died before its first event"):
            await start
        assert not os.listdir(home.root / "state" / "owed")
        assert not (home.root / "state" / "todos").exists()


async def test_only_what_runs_can_be_interrupted(home: House) -> None:
    with pytest.raises(Refused, match="nothing is known of a subagent `nobody`"):
        await home.service.interrupt("nobody")
    await home.run(script(text("done")))
    with pytest.raises(Refused, match=r"nothing to interrupt: .*finished its turn"):
        await home.service.interrupt("agent")
    assert len(await home.notices()) == 1


async def test_an_interrupted_session_goes_on(home: House) -> None:
    live = await home.begin(script(bash(SLEEP)))
    await in_tool(live)
    await home.service.interrupt("agent")
    reply, said = await home.service.continue_("agent", script(text("done")))
    assert reply.previous is not None
    assert reply.previous.cause == "interrupt"
    assert "KILLED (interrupted)" in said
    assert (await home.ended()).result == "done"


async def test_what_dies_with_an_interrupt_is_only_that_run(home: House) -> None:
    """R15, R16."""
    await home.begin(script(HANG), "one")
    other = await home.begin(script(HANG), "two")
    reply, _ = await home.service.interrupt("one", force=True)
    assert len(reply.processes) == 1
    assert other.run is not None
    assert other.run.claude is not None
    assert is_alive(other.run.claude.pid)
    await home.service.interrupt("two")
    await gone([other.run.claude.pid])


def _conversation(live: LiveSession) -> Conversation:
    assert live.run is not None
    assert live.run.claude is not None
    return live.run.claude.conversation


async def test_an_interrupt_while_a_stop_waits_is_told_alike_everywhere(daemon: Daemon) -> None:
    gate = daemon.gate()
    name = await daemon.begin(script({"tool": "Look", "gate": str(gate)}, text("x")))
    await daemon.in_tool(name)
    await daemon.must("intervene", name=name, kind="stop", text="no more")
    answer = await daemon.call("interrupt", name=name)
    assert "Its notice says stopped" in answer.text
    notice = await daemon.notice(name)
    assert notice["kind"] == "stopped"
    assert "before it came to a step (interrupted" in notice["text"]
