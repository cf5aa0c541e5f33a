"""Claude's home: passed on where it was given, and the same place for all that look into it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.daemon import Daemon
from support.stub import OLD, script, text


def transcripts(config_dir: Path, ending: str) -> list[Path]:
    return sorted((config_dir / "projects").glob(f"*/*{ending}"))


async def seen(world: Daemon) -> dict[str, str]:
    session = await world.run(script({"echo_env": True}))
    environment: dict[str, str] = json.loads(session["result"])
    return environment


async def test_a_child_of_a_daemon_without_a_config_dir_gets_none(world: Daemon) -> None:
    """Issue 9, 15: with the variable claude does not see a login in `~/.claude.json`."""
    world.settings["claude_config_dir"] = ""
    world.start()
    assert "CLAUDE_CONFIG_DIR" not in await seen(world)


@pytest.mark.parametrize("blank", ["", "  "])
async def test_a_blank_variable_is_not_passed_on(world: Daemon, blank: str) -> None:
    """Issue 9, 15 and 17: set and blank, it makes claude keep its sessions somewhere else."""
    world.settings |= {"claude_config_dir": "", "child_env": ["CLAUDE_CONFIG_DIR"]}
    world.environment["CLAUDE_CONFIG_DIR"] = blank
    world.start()
    assert "CLAUDE_CONFIG_DIR" not in await seen(world)


async def test_a_variable_that_was_set_is_passed_on(world: Daemon) -> None:
    """Issue 9, 15."""
    world.settings["claude_config_dir"] = ""
    world.environment["CLAUDE_CONFIG_DIR"] = str(world.claude_dir)
    world.start()
    assert (await seen(world))["CLAUDE_CONFIG_DIR"] == str(world.claude_dir)


async def test_a_setting_that_was_given_is_passed_on_even_if_it_names_the_usual_place(
    world: Daemon,
) -> None:
    """Issue 9, 15."""
    world.settings["claude_config_dir"] = "~/.claude"
    world.start()
    assert (await seen(world))["CLAUDE_CONFIG_DIR"] == str(world.root / "home" / ".claude")


@pytest.mark.parametrize("version", ["", OLD])
async def test_sessions_of_the_usual_place_are_found_again(world: Daemon, version: str) -> None:
    """Issue 9, 15: continued, archived, and after a restart."""
    world.settings |= {"claude_config_dir": "", "child_env": ["HIVE_SUBAGENT_STUB_VERSION"]}
    if version:
        world.environment["HIVE_SUBAGENT_STUB_VERSION"] = version
    usual = world.root / "home" / ".claude"
    world.start()
    name = (await world.run(script(text("done"))))["name"]
    world.restart()
    await world.must("continue", name=name, prompt=script({"echo_history": True}))
    assert "Carry out" in (await world.ended(name))["result"]
    assert len(transcripts(usual, ".jsonl")) == 1
    reply = await world.must("start", name=name, prompt_file=world.brief(script(text("new"))))
    assert reply["archived"] == 1
    await world.ended(name)
    assert len(transcripts(usual, ".jsonl.archived")) == 1
    assert not (world.claude_dir / "projects").exists()
