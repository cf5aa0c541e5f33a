"""Words that come at an awkward moment: at the start, amid a cut, at a death, over a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from support import processes
from support.daemon import Daemon
from support.stub import need_help, script, text

SEEN = {"echo_seen": True}


def gated(gate: Path, *after: dict[str, Any], **further: Any) -> str:
    """A turn with one tool that waits for its gate."""
    tool = {"tool": "Bash", "input": {}, "result": "ok", "gate": str(gate)}
    return script(text("begin"), tool, *after, **further)


async def intervene(daemon: Daemon, name: str, kind: str, text: str, **more: Any) -> dict[str, Any]:
    return await daemon.must("intervene", name=name, kind=kind, text=text, **more)


async def redirect_now(daemon: Daemon, name: str, text: str) -> None:
    await intervene(daemon, name, "redirect", text, now=True)


async def flushed(daemon: Daemon, name: str) -> str:
    """What a next run is told first."""
    await daemon.must("continue", name=name, prompt=script({"echo_prompt": True}), goal="")
    told: str = (await daemon.ended(name))["result"]
    return told


async def begun(daemon: Daemon, name: str) -> None:
    """Until the name is taken."""
    with anyio.fail_after(processes.PATIENCE_S):
        while (await daemon.call("status", name=name)).is_error:
            pass


async def test_two_redirects_now_in_a_row_are_both_told_once(daemon: Daemon) -> None:
    gate = daemon.gate()
    name = await daemon.begin(gated(daemon.gate()))
    await daemon.in_tool(name)
    waiting = gated(gate, text("as you say"))
    async with anyio.create_task_group() as tasks:
        for plan in ("plan B", "plan C"):
            tasks.start_soon(redirect_now, daemon, name, f"{plan} {waiting}")
    assert (await daemon.must("status", name=name))["interventions"] == []
    gate.touch()
    session = await daemon.ended(name)
    assert (session["stop_reason"], session["result"]) == ("turn_ended", "as you say")
    assert "Not delivered" not in (await daemon.notice(name))["text"]
    [transcript] = [t for t in daemon.transcripts() if b"plan C" in t.read_bytes()]
    told = [line for line in transcript.read_text().splitlines() if '"type":"user"' in line]
    assert ["".join(told).count(f"] plan {plan} ") for plan in "BC"] == [1, 1]


async def test_what_comes_amid_a_cut_follows_it(daemon: Daemon) -> None:
    """A hook's answer would be dropped by a claude that was just interrupted."""
    gate = daemon.gate()
    name = await daemon.begin(gated(daemon.gate()))
    await daemon.in_tool(name)
    tool = {"tool": "Bash", "input": {}, "result": "ok", "gate": str(gate)}
    plan = script(tool, SEEN)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(redirect_now, daemon, name, f"plan B {plan}")
        tasks.start_soon(intervene, daemon, name, "info", "the address moved")
        output = daemon.runtime_dir / "channels" / name / "output.txt"
        await processes.until(lambda: output.read_text().count("is queued") == 2, "both words")
        gate.touch()
    seen = (await daemon.ended(name))["result"]
    assert seen.count("the address moved") == 1
    assert "Not delivered" not in (await daemon.notice(name))["text"]


async def test_a_stop_is_not_overtaken_by_a_redirect_now(daemon: Daemon) -> None:
    gate = daemon.gate()
    name = await daemon.begin(gated(gate, text("never said")))
    await daemon.in_tool(name)
    await intervene(daemon, name, "stop", "enough")
    later = await intervene(daemon, name, "redirect", "plan B", now=True)
    assert later["state"] == "queued"
    gate.touch()
    assert (await daemon.ended(name))["stop_reason"] == "stopped"
    notice = await daemon.notice(name)
    assert f"Not delivered before the run ended: redirect {later['id']} (plan B)" in notice["text"]
    assert (await flushed(daemon, name)).startswith("[PARENT INTERVENTION] plan B")


@pytest.mark.parametrize("now", [False, True])
async def test_a_redirect_before_the_first_event_is_told(daemon: Daemon, now: bool) -> None:
    gate, name = daemon.gate(), daemon.name()
    does = script({"tool": "Read", "result": "x"}, SEEN, before_init=[{"wait_file": str(gate)}])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.begin, does, name)
        await begun(daemon, name)
        plan = f"plan B {script(SEEN)}" if now else "plan B"
        reply = await intervene(daemon, name, "redirect", plan, now=now)
        assert reply["state"] == ("delivered" if now else "queued")
        gate.touch()
    session = await daemon.ended(name)
    assert session["result"].count("[PARENT INTERVENTION] plan B") == 1
    assert session["stop_reason"] == "turn_ended"


async def test_a_stop_of_a_run_that_never_says_anything_is_kept_too(world: Daemon) -> None:
    world.settings |= {"stop_grace_s": 0.3, "resume_confirm_s": 30}
    world.start()
    name = world.name()
    given = {"name": name, "prompt_file": world.brief(script(before_init=[{"hang": True}]))}
    async with anyio.create_task_group() as tasks:

        async def start() -> None:
            assert "died before its first event" in await world.refused("start", **given)

        tasks.start_soon(start)
        await begun(world, name)
        await intervene(world, name, "stop", "enough")


async def test_a_stop_does_not_hide_what_the_subagent_asked(daemon: Daemon) -> None:
    gate = daemon.gate()
    name = await daemon.begin(
        script(need_help("which rule?"), {"wait_file": str(gate)}, text("so I wait")), goal="green"
    )
    await intervene(daemon, name, "stop", "enough")
    gate.touch()
    session = await daemon.ended(name)
    assert session["stop_reason"] in ("stopped", "need_help")
    text_of_notice = (await daemon.notice(name))["text"]
    assert "which rule?" in text_of_notice
    assert "enough" in text_of_notice


async def test_a_refused_continue_loses_nothing_that_was_to_be_told(daemon: Daemon) -> None:
    name = await daemon.begin(script(text("one")))
    await daemon.ended(name)
    channel = daemon.runtime_dir / "channels" / name
    (channel / "_keyinfo.txt").write_text("the address moved")
    stillborn = script(before_init=[{"die": "SIGKILL"}])
    for _ in range(2):
        await daemon.refused("continue", name=name, prompt=stillborn)
        assert not (channel / "_keyinfo.txt").exists()
    assert (await flushed(daemon, name)).startswith("[PARENT INFORMATION] the address moved")
    assert "moved" not in await flushed(daemon, name)


async def test_a_stop_from_before_the_run_is_set_aside(daemon: Daemon) -> None:
    name = await daemon.begin(script(text("one")))
    await daemon.ended(name)
    channel = daemon.runtime_dir / "channels" / name
    (channel / "_stop.txt").write_text("too late")
    await daemon.must("continue", name=name, prompt=script({"tool": "Read"}, text("two")))
    assert (await daemon.ended(name))["result"] == "two"
    assert (channel / "_stop.txt.rejected.1").read_text() == "too late"
    assert "it was meant for a run that was over" in (channel / "output.txt").read_text()


@pytest.mark.parametrize("way", ["stop", "kill"])
async def test_what_is_pending_outlives_the_daemon(world: Daemon, way: str) -> None:
    world.start()
    name = await world.begin(gated(world.gate()))
    await world.in_tool(name)
    info = await intervene(world, name, "info", "the address moved")
    stop = await intervene(world, name, "stop", "enough")
    if way == "stop":
        assert world.stop() == 0
    else:
        world.kill()
    world.start()
    notice = (await world.notice(name))["text"]
    assert f"info {info['id']} (the address moved); it is kept for the next turn." in notice
    assert f"stop {stop['id']} (enough)." in notice
    assert (await flushed(world, name)).startswith("[PARENT INFORMATION] the address moved")
    world.restart()
    assert "moved" not in await flushed(world, name)


async def test_what_a_killed_claude_had_read_is_not_told_again(daemon: Daemon) -> None:
    """It confirms a message only once the API has answered; its transcript knows better."""
    gate = daemon.gate()
    name = await daemon.begin(script({"wait_file": str(gate)}, text("one")))
    await intervene(daemon, name, "info", "the address moved")
    gate.touch()
    await daemon.ended(name)
    await daemon.must("continue", name=name, prompt=script({"die": "SIGKILL"}))
    await daemon.ended(name)
    assert "moved" not in await flushed(daemon, name)


async def test_a_long_word_is_told_whole_and_too_long_a_one_is_refused(daemon: Daemon) -> None:
    gate = daemon.gate()
    name = await daemon.begin(gated(gate, {"echo_seen": True}))
    await daemon.in_tool(name)
    assert "text is over 65536 bytes" in await daemon.refused(
        "intervene", name=name, kind="info", text="x" * 65_537
    )
    await intervene(daemon, name, "info", "y" * 65_536)
    gate.touch()
    await daemon.ended(name)
    [transcript] = [t for t in daemon.transcripts() if b"yyyy" in t.read_bytes()]
    assert b"[PARENT INFORMATION] " + b"y" * 65_536 in transcript.read_bytes()
