"""A daemon that is killed: the next one finds what it left, and tells of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from support.daemon import Daemon
from support.processes import gone, is_alive, until
from support.stub import HANG, bash, script, text


async def test_after_a_kill_nothing_is_left_and_every_ending_is_reported(
    world: Daemon, tmp_path: Path
) -> None:
    """R11, R17."""
    (tmp_path / "elsewhere").mkdir()
    world.settings["resume_confirm_s"] = 600
    world.start()
    done = (await world.run(script(text("done"))))["name"]
    pid_file = world.gate()
    loose = bash(f"setsid sleep 1000 & echo $! > {pid_file}; wait")
    names = {
        "in an API wait": await world.begin(script(HANG), dir=str(tmp_path / "elsewhere")),
        "in a tool": await world.begin(script(loose)),
        "deaf": await world.begin(script({"hang_deaf": True})),
        "with a goal": await world.begin(
            script(HANG), goal="be done", report_file=str(tmp_path / "report.md")
        ),
    }
    await until(lambda: pid_file.exists() and pid_file.read_text() != "")
    gate = world.gate()
    mute = world.brief(script(before_init=[{"touch": str(gate)}, HANG]))
    unanswered = asyncio.ensure_future(world.call("start", name="mute", prompt_file=mute))
    await until(gate.exists)
    children = world.children()
    assert int(pid_file.read_text()) in children
    stranger = Daemon(tmp_path / "stranger")
    stranger.start()
    try:
        kept = await stranger.begin(script(HANG))
        strangers = stranger.children()

        world.kill()
        assert any(map(is_alive, children)), "a dead daemon does not stop them"
        await asyncio.wait([unanswered])
        assert unanswered.exception() is not None
        world.start()

        assert world.children() == {}
        await gone(children)
        assert all(map(is_alive, strangers)), "another daemon's children are its own"
        for name in names.values():
            notice = await world.notice(name)
            assert notice["kind"] == "killed"
            assert "the daemon stopped" in notice["text"]
            session = await world.must("status", name=name)
            assert (session["state"], session["cause"]) == ("killed", "daemon_stop")
            assert notice["text"] == session["text"]
        assert "the daemon stopped" in (tmp_path / "report.md").read_text()
        assert list((world.runtime_dir / "mcp").iterdir()) == []
        assert len(world.notices(done)) == 1
        assert world.notices("mute") == [], "a call that was not answered well owes nothing"
        assert "nothing is known" in await world.refused("status", name="mute")

        name = names["in an API wait"]
        answer = await world.call("continue", name=name, prompt=script({"echo_history": True}))
        assert answer.data["dir"] == str(tmp_path / "elsewhere")
        assert answer.data["previous"]["cause"] == "daemon_stop"
        assert "KILLED (the daemon stopped)" in answer.text
        assert "Carry out" in (await world.ended(name))["result"]
        await world.notice(name, count=2)
        await stranger.must("interrupt", name=kept)
    finally:
        stranger.kill()


async def test_a_notice_that_no_sink_took_waits_for_the_next_daemon(world: Daemon) -> None:
    """R17: and each sink gets it once."""
    path = world.root / "todo.sock"
    world.settings["todo_sinks"] = [f"unix:{path}", f"dir:{world.state_dir / 'todos'}"]
    world.start()
    name = (await world.run(script(text("done"))))["name"]
    await until(lambda: len(world.notices(name)) == 1)
    assert world.owed() == [name]
    world.kill()
    taken: list[dict[str, object]] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.append(json.loads(await reader.readline()))
        writer.write(b'{"ok":true}\n')
        writer.close()

    async with await asyncio.start_unix_server(take, path):
        world.start()
        await until(lambda: world.owed() == [])
        assert world.stop() == 0
    assert taken == world.notices(name)
    assert len(taken) == 1
