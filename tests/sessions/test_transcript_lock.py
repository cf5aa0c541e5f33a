"""Two processes never have one session open."""

from __future__ import annotations

import fcntl
import json
import subprocess
from pathlib import Path

import pytest
from support.house import House, house
from support.processes import until
from support.stub import HANG, script, text

from hive_subagent.claude import transcripts
from hive_subagent.errors import Refused


def transcript(home: House, session_id: str) -> Path:
    found = transcripts.find(home.settings.claude_config_dir, home.root / "work", session_id)
    assert found is not None
    return found


@pytest.mark.parametrize("first_run", ["started", "continued"])
async def test_a_second_daemon_of_the_same_claude_is_refused_what_the_first_has_open(
    tmp_path: Path, first_run: str
) -> None:
    """R22."""
    async with house(tmp_path) as home:
        if first_run == "continued":
            await home.run(script(text("x")), "shared")
            await home.service.continue_("shared", script(HANG))
        else:
            await home.begin(script(HANG), "shared")
        async with house(tmp_path, state_dir=tmp_path / "b", runtime_dir=tmp_path / "c") as other:
            with pytest.raises(Refused, match=r"session .* in (use by|process)|open in process"):
                await other.service.continue_("shared", "me too")
            with pytest.raises(Refused, match="nothing is known"):
                await other.service.status("shared")
        view, _ = await home.service.status("shared")
        assert view.state == "running"
        assert "me too" not in transcript(home, view.session_id).read_text()
        await home.service.interrupt("shared")


async def test_a_transcript_is_locked_while_its_run_goes_on(home: House) -> None:
    """R22: for whoever locks as we do."""
    live = await home.begin(script(HANG))
    await until(lambda: live.lock is not None, "the lock")
    file = transcript(home, live.record.session_id)
    with file.open() as opened, pytest.raises(BlockingIOError):
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    await home.service.interrupt("agent")
    with file.open() as opened:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(Refused, match="in use by process"):
            await home.service.continue_("agent", "go on")


async def test_a_claude_started_by_hand_is_a_holder_too(home: House) -> None:
    """R22: it locks nothing, but tells in sessions/<pid>.json what it has open."""
    first = await home.run(script(text("x")))
    with subprocess.Popen(["sleep", "100"]) as holder:
        sessions = home.root / "claude" / "sessions"
        note = {"pid": holder.pid, "sessionId": first.session_id, "cwd": first.dir}
        (sessions / f"{holder.pid}.json").write_text(json.dumps(note))
        try:
            with pytest.raises(Refused, match=f"open in process {holder.pid}"):
                await home.service.continue_("agent", "go on")
            with pytest.raises(Refused, match=f"open in process {holder.pid}"):
                await home.service.start("agent", home.brief())
        finally:
            holder.kill()
    assert transcript(home, first.session_id).exists()
    await home.service.continue_("agent", script(text("y")))
    assert (await home.ended()).result == "y"
