"""An owner's hand on real runs, by tool and by file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio
from support import processes
from support.daemon import Daemon
from support.stub import script, text


def gated(gate: Path, *after: dict[str, Any]) -> str:
    """A turn with one tool that waits for its gate."""
    tool = {"tool": "Bash", "input": {}, "result": "ok", "gate": str(gate)}
    return script(text("begin"), tool, *after, text("end"))


def channel(daemon: Daemon, name: str) -> Path:
    return daemon.runtime_dir / "channels" / name


async def test_a_redirect_arrives_after_the_step_in_hand_and_the_run_goes_on(
    daemon: Daemon,
) -> None:
    gate = daemon.gate()
    name = await daemon.begin(gated(gate))
    await daemon.in_tool(name)
    queued = await daemon.must("intervene", name=name, kind="redirect", text="take plan B")
    assert queued["state"] == "queued"
    pending = (await daemon.must("status", name=name))["interventions"]
    assert [(p["id"], p["kind"], p["state"]) for p in pending] == [
        (queued["id"], "redirect", "queued")
    ]
    gate.touch()
    session = await daemon.ended(name)
    assert session["stop_reason"] == "turn_ended"
    notice = await daemon.notice(name)
    assert "Not delivered" not in notice["text"]


async def test_a_stop_ends_the_run_after_its_step_and_the_session_goes_on_later(
    daemon: Daemon,
) -> None:
    gate = daemon.gate()
    name = await daemon.begin(gated(gate, text("never said")))
    await daemon.in_tool(name)
    await daemon.must("intervene", name=name, kind="stop", text="higher priority work")
    gate.touch()
    session = await daemon.ended(name)
    assert (session["state"], session["stop_reason"]) == ("idle", "stopped")
    assert session["message"] == "higher priority work"
    notice = await daemon.notice(name)
    assert notice["kind"] == "stopped"
    assert "stopped by its owner: higher priority work." in notice["text"]
    await daemon.must("continue", name=name, prompt=script(text("again")))
    assert (await daemon.ended(name))["result"] == "again"


async def test_a_stop_is_a_promise_also_where_no_step_comes(world: Daemon) -> None:
    world.settings["stop_grace_s"] = 0.3
    world.start()
    name = await world.begin(gated(world.gate()))
    await world.in_tool(name)
    await world.must("intervene", name=name, kind="stop", text="now is now")
    session = await world.ended(name)
    assert (session["state"], session["stop_reason"]) == ("killed", "stopped")
    assert session["cause"] == "interrupt"
    notice = await world.notice(name)
    assert "stopped by its owner: now is now." in notice["text"]
    assert "killed mid-turn" in notice["text"]


async def test_a_stop_in_a_turn_without_tools_ends_a_goal_run(daemon: Daemon) -> None:
    gate = daemon.gate()
    name = await daemon.begin(
        script({"wait_file": str(gate)}, text("a thought")), goal="never", max_turns=5
    )
    await daemon.must("intervene", name=name, kind="stop", text="enough")
    gate.touch()
    session = await daemon.ended(name)
    assert (session["stop_reason"], session["turn"]) == ("stopped", 1)
    notice = (await daemon.notice(name))["text"]
    assert "stopped by its owner: enough. Its turn had an answer by then" in notice
    assert "Its last answer:\n> a thought" in notice
    assert "NOT finish" not in notice


async def test_a_redirect_now_cuts_the_running_tool(daemon: Daemon) -> None:
    name = await daemon.begin(gated(daemon.gate()))
    await daemon.in_tool(name)
    done = await daemon.must(
        "intervene",
        name=name,
        kind="redirect",
        text="drop that " + script({"echo_prompt": True}),
        now=True,
    )
    assert done["state"] == "delivered"
    session = await daemon.ended(name)
    assert session["stop_reason"] == "turn_ended"
    assert session["result"].startswith("[PARENT INTERVENTION] drop that")


async def test_information_that_came_too_late_stands_before_the_next_prompt(
    daemon: Daemon,
) -> None:
    gate = daemon.gate()
    name = await daemon.begin(script({"wait_file": str(gate)}, text("done")))
    await daemon.must("intervene", name=name, kind="info", text="the address moved")
    gate.touch()
    await daemon.ended(name)
    notice = await daemon.notice(name)
    assert "the address moved" in notice["text"]
    assert "kept for the next turn" in notice["text"]
    daemon_says = script({"echo_prompt": True})
    await daemon.must("continue", name=name, prompt=daemon_says)
    first = (await daemon.ended(name))["result"]
    assert first.startswith("[PARENT INFORMATION] the address moved")
    await daemon.must("continue", name=name, prompt=daemon_says)
    assert "moved" not in (await daemon.ended(name))["result"]


async def test_files_do_what_the_tool_does(daemon: Daemon) -> None:
    gate = daemon.gate()
    name = await daemon.begin(gated(gate))
    await daemon.in_tool(name)
    folder = channel(daemon, name)
    (folder / "_stop.txt").write_text("from a shell\n")
    await processes.until(lambda: not (folder / "_stop.txt").exists(), "the file to be taken")
    gate.touch()
    session = await daemon.ended(name)
    assert (session["stop_reason"], session["message"]) == ("stopped", "from a shell")
    lines = (folder / "output.txt").read_text()
    for said in ("says: begin", "tool opens: Bash", "tool closes: done", "owner: stop"):
        assert said in lines


async def test_a_file_written_between_two_runs_waits_for_the_next(daemon: Daemon) -> None:
    name = await daemon.begin(script(text("one")))
    await daemon.ended(name)
    (channel(daemon, name) / "_keyinfo.txt").write_text("meanwhile")
    await daemon.must("continue", name=name, prompt=script({"echo_prompt": True}))
    assert (await daemon.ended(name))["result"].startswith("[PARENT INFORMATION] meanwhile")


async def test_what_cannot_be_done_is_refused_in_one_line(daemon: Daemon) -> None:
    assert "does not run" in await daemon.refused("intervene", name="nobody", kind="stop", text="x")
    name = await daemon.begin(script({"hang": True}))
    assert "blank" in await daemon.refused("intervene", name=name, kind="info", text=" ")
    assert "now is for redirect" in await daemon.refused(
        "intervene", name=name, kind="info", text="x", now=True
    )
    await daemon.must("interrupt", name=name, force=True)


async def test_what_waits_for_one_run_is_bounded_and_nothing_is_lost_beyond(
    daemon: Daemon,
) -> None:
    """Each is written down with all that wait, so many cost a square of it."""
    gate = daemon.gate()
    pause = {"tool": "Read", "input": {}, "result": "x"}
    name = await daemon.begin(gated(gate, {"repeat": 4, "steps": [pause]}))
    await daemon.in_tool(name)
    folder = channel(daemon, name)
    for number in range(17):
        (folder / ".draft").write_text(f"word {number}; " + "x" * 60_000)
        (folder / ".draft").rename(folder / "_keyinfo.txt")
        await processes.until(lambda: not (folder / "_keyinfo.txt").exists(), "its taking")
    (folder / "_intervene.txt").write_text("beyond; " + "x" * 65_000)
    output = folder / "output.txt"
    await processes.until(
        lambda: "_intervene.txt is left until" in output.read_text(), "a word of it"
    )
    assert (folder / "_intervene.txt").exists()
    refused = await daemon.refused("intervene", name=name, kind="info", text="y" * 65_000)
    assert "wait until it has read them, or stop it" in refused
    assert len((await daemon.must("status", name=name))["interventions"]) == 17
    gate.touch()
    await daemon.ended(name)
    assert not (folder / "_intervene.txt").exists()
    [transcript] = [t for t in daemon.transcripts() if b"word 16;" in t.read_bytes()]
    told = transcript.read_text()
    assert [told.count(f"word {number};") for number in range(17)] == [1] * 17
    assert "beyond;" in told


async def test_a_redirect_now_is_in_what_follows_the_cut_however_much_waits(
    daemon: Daemon,
) -> None:
    name = await daemon.begin(gated(daemon.gate()))
    await daemon.in_tool(name)
    text = f"this way {script({'echo_prompt': True})}"
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            told = {"name": name, "kind": "info", "text": "x" * 60_000}
            tasks.start_soon(partial(daemon.must, "intervene", **told))
    done = await daemon.must("intervene", name=name, kind="redirect", text=text, now=True)
    assert done["state"] == "delivered"
    [transcript] = [t for t in daemon.transcripts() if b"this way" in t.read_bytes()]
    lines = [line for line in transcript.read_text().splitlines() if '"type":"user"' in line]
    [line] = [line for line in lines if "this way" in line]
    assert line.count("[PARENT INFORMATION]") == 10


async def test_a_subagent_is_not_told_where_its_channel_is(daemon: Daemon) -> None:
    where = str(daemon.runtime_dir)
    name = await daemon.begin(script({"echo_env": True}))
    environment = (await daemon.ended(name))["result"]
    assert where not in environment
    await daemon.must("continue", name=name, prompt=script({"echo_argv": True}))
    assert where not in (await daemon.ended(name))["result"]


async def test_channels_can_be_switched_off(world: Daemon) -> None:
    world.settings["channels"] = False
    world.start()
    gate = world.gate()
    name = await world.begin(gated(gate))
    await world.in_tool(name)
    await world.must("intervene", name=name, kind="stop", text="enough")
    gate.touch()
    assert (await world.ended(name))["stop_reason"] == "stopped"
    assert not (world.runtime_dir / "channels").exists()


async def test_information_for_a_run_that_only_holds_for_background_work_says_when_it_arrives(
    daemon: Daemon,
) -> None:
    """Issue 9, 34: it promised the next step, and there is none until the work has ended."""
    gate = daemon.gate()
    pause = "perl -e 'select undef, undef, undef, 0.02'"
    work = {"bash": f"until [ -e {gate} ]; do {pause}; done", "background": True}
    name = await daemon.begin(script(work, text("started"), after_background=[text("built")]))
    with anyio.fail_after(20):
        while True:
            session = await daemon.must("status", name=name)
            if session["answers"] and session["background"]:
                break
            await anyio.sleep(0.02)
    told = (await daemon.call("status")).text
    assert f"`{name}`: running, last event 0 s ago, waits for its background work" in told
    answer = await daemon.call("intervene", name=name, kind="info", text="the address moved")
    assert answer.data["state"] == "queued"
    assert "arrives once its background work has ended and it goes on" in answer.text
    gate.touch()
    await daemon.ended(name)
