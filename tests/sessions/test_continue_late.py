"""When claude answers a `continue` early, late or never."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from support.house import House, house
from support.stub import STUB, script, text

from hive_subagent.errors import Refused


def slow_claude(folder: Path, gate: Path) -> str:
    """A program that becomes the stub once `gate` exists."""
    program = folder / "slow-claude"
    program.write_text(f'#!/bin/sh\nuntil [ -e "{gate}" ]; do sleep 0.01; done\nexec {STUB} "$@"\n')
    program.chmod(0o755)
    return str(program)


async def test_a_miss_is_told_as_soon_as_it_is_known(tmp_path: Path) -> None:
    """No fixed delay: the limit of the wait is an hour here."""
    async with house(tmp_path, resume_confirm_s=3600) as home:
        with anyio.fail_after(30), pytest.raises(Refused, match="does not match any session"):
            await home.service.continue_("nobody", "go on")


async def test_a_hit_is_told_as_soon_as_it_is_known(tmp_path: Path) -> None:
    async with house(tmp_path, resume_confirm_s=3600) as home:
        first = await home.run(script(text("one")))
        gate = home.gate()
        with anyio.fail_after(30):
            reply, _ = await home.service.continue_(
                "agent", script({"wait_file": str(gate)}, text("two"))
            )
        assert reply.session_id == first.session_id
        gate.touch()
        assert (await home.ended()).result == "two"


async def test_a_miss_that_comes_too_late_for_the_call_is_a_failed_run(tmp_path: Path) -> None:
    """Fails open: the call was answered well, so a notice says it, with the place searched."""
    gate = tmp_path / "gate"
    program = slow_claude(tmp_path, gate)
    async with house(tmp_path, claude_bin=program, resume_confirm_s=0.2) as home:
        reply, said = await home.service.continue_("nobody", "go on")
        assert reply.session_id == ""
        assert "has not said a word yet" in said
        gate.touch()
        view = await home.ended("nobody")
        assert view.state == "failed"
        (notice,) = await home.notices()
    assert notice["kind"] == "failed"
    for words in (view.message or "", notice["text"]):
        assert "does not match any session title" in words
        assert str(tmp_path / "claude") in words
        assert str(tmp_path / "work") in words


async def test_a_session_that_is_found_by_its_title_too_late_for_the_call_is_remembered(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    async with house(tmp_path) as home:
        first = await home.run(script(text("one")), "title")
    program = slow_claude(tmp_path, gate)
    async with house(
        tmp_path, claude_bin=program, state_dir=tmp_path / "other", resume_confirm_s=0.2
    ) as home:
        await home.service.continue_("title", "go on")
        gate.touch()
        assert (await home.ended("title")).session_id == first.session_id
    async with house(tmp_path, state_dir=tmp_path / "other") as home:
        view, _ = await home.service.status("title")
        assert view.session_id == first.session_id
        assert view.stop_reason == "turn_ended"
        assert view.dir == first.dir


async def test_after_a_restart_a_session_goes_on_without_its_directory(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    async with house(tmp_path) as home:
        file = home.brief(script(text("one")))
        reply, _ = await home.service.start("agent", file, dir=str(tmp_path / "elsewhere"))
        await home.ended()
    async with house(tmp_path) as home:
        again, _ = await home.service.continue_("agent", script({"echo_history": True}))
        assert again.session_id == reply.session_id
        assert again.dir == str(tmp_path / "elsewhere")
        assert "Carry out" in ((await home.ended()).result or "")


async def test_a_directory_that_is_gone_is_named(home: House) -> None:
    (home.root / "gone").mkdir()
    file = home.brief(script(text("one")))
    await home.service.start("agent", file, dir=str(home.root / "gone"))
    await home.ended()
    (home.root / "gone").rmdir()
    with pytest.raises(Refused, match=f"{home.root / 'gone'}, and nothing is there any more"):
        await home.service.continue_("agent", "go on")
