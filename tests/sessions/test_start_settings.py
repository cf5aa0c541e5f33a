"""What the settings make of a start: limits, waits, defaults."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from support.house import house
from support.stub import HANG, STUB, script, text

from hive_subagent.errors import Refused
from hive_subagent.models.session import SessionView
from hive_subagent.sessions.options import Options


async def test_a_start_waits_for_the_first_event_and_no_longer_than_allowed(tmp_path: Path) -> None:
    async with house(tmp_path, resume_confirm_s=0.3) as home:
        gate = home.gate()
        brief = home.brief(script(text("late"), before_init=[{"wait_file": str(gate)}]))

        _, said = await home.service.start("agent", brief)

        assert "has not said a word yet" in said
        view, told = await home.service.status("agent")
        assert view.state == "starting"
        assert view.stop_reason is None
        assert view.last_event_age_s is not None
        assert "is starting, without a word" in told
        gate.touch()
        assert (await home.ended()).result == "late"
        await home.notices()


async def test_beyond_the_limit_a_call_is_refused_with_the_limit_and_who_runs(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, max_running=2) as home:
        await home.run(script(text("x")), "idle")
        await home.begin(script(HANG), "one")
        await home.begin(script(HANG), "two")
        told = r"max_running 2 is reached \(running: one, two\)"
        with pytest.raises(Refused, match=told):
            await home.service.start("three", home.brief())
        with pytest.raises(Refused, match=told):
            await home.service.continue_("idle", "go on")
        with pytest.raises(Refused, match="nothing is known"):
            await home.service.status("three")
        await home.service.interrupt("one")
        assert (await home.run(script(text("now")), "three")).result == "now"


async def test_the_model_of_the_call_counts_then_that_of_the_session_then_the_default(
    tmp_path: Path,
) -> None:
    def models(view: SessionView) -> list[str]:
        return [arg for arg in json.loads(view.result or "") if arg.startswith("--model")]

    argv = script({"echo_argv": True})
    async with house(tmp_path) as home:
        assert models(await home.run(argv)) == []
        assert models(await home.run(argv, "kept", model="haiku")) == ["--model=haiku"]
    async with house(tmp_path, default_model="sonnet") as home:
        assert models(await home.run(argv)) == ["--model=sonnet"]
        for options, model in ((Options(), "haiku"), (Options(model="opus"), "opus")):
            await home.service.continue_("kept", argv, options=options)
            assert models(await home.ended("kept")) == [f"--model={model}"]


async def test_a_program_may_be_named_from_where_the_daemon_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session's directory is another one."""
    (tmp_path / "my-claude").symlink_to(STUB)
    monkeypatch.chdir(tmp_path)
    async with house(tmp_path, claude_bin="./my-claude") as home:
        assert (await home.run(script(text("x")))).result == "x"
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    async with house(tmp_path, claude_bin="my-claude") as home:
        assert (await home.run(script(text("x")))).result == "x"


async def test_a_goal_without_a_number_of_turns_has_the_default(tmp_path: Path) -> None:
    async with house(tmp_path, default_max_turns=3) as home:
        view = await home.run(script(text("x")), goal="be done")
        assert (view.turn, view.max_turns, view.stop_reason) == (3, 3, "turn_cap")


@pytest.mark.parametrize(
    ("mode", "flags"),
    [
        ("bypassPermissions", ["--dangerously-skip-permissions"]),
        ("plan", ["--permission-mode=plan", "--setting-sources="]),
    ],
)
async def test_a_permission_mode_below_bypass_is_never_passed_beside_the_bypass(
    tmp_path: Path, mode: str, flags: list[str]
) -> None:
    """R29: and a project's own settings cannot raise it again."""
    async with house(tmp_path, permission_mode=mode) as home:
        argv = json.loads((await home.run(script({"echo_argv": True}))).result or "")
    found = [arg for arg in argv if re.match("--(dangerously|permission|setting-sources)", arg)]
    assert found == flags
