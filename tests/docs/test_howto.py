"""The how-to pages, command for command (issue 12, 11)."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import anyio.to_thread
import pytest
from support.daemon import Daemon
from support.stub import script, text

from docs.pages import ROOT, Block, blocks
from docs.reader import Reader

SKILL = "docs/skills/subagent-intervention"


@pytest.mark.skipif(
    not Path("/usr/bin/env").exists(), reason="the page's command begins with /usr/bin/env"
)
def test_the_ways_to_be_told_work_as_shown(tmp_path: Path) -> None:
    """Issue 12, 11: "you will be told" came true in no set-up that the pages built."""
    reader = Reader.below(tmp_path)
    reader.follow("docs/how-to/be-told.md")
    assert [left.name for left in reader.home.iterdir()] == []


def test_the_skill_is_installed_where_claude_looks(tmp_path: Path) -> None:
    reader = Reader.below(tmp_path)
    reader.follow("docs/how-to/install-skills.md")
    installed = reader.home / ".claude" / "skills" / "claude-subagents" / "SKILL.md"
    assert installed.read_text() == (ROOT / "docs/skills/claude-subagents/SKILL.md").read_text()


async def test_the_files_of_a_channel_reach_a_running_subagent(
    daemon: Daemon, tmp_path: Path
) -> None:
    gate = daemon.gate()
    waits = {"tool": "Bash", "input": {}, "result": "ok", "gate": str(gate)}
    await daemon.begin(script(waits, text("never said")), "lint")
    await daemon.in_tool("lint")
    reader = Reader.below(tmp_path, RUNTIME=str(daemon.runtime_dir))
    await anyio.to_thread.run_sync(reader.follow, "docs/how-to/intervene.md")
    gate.touch()
    assert (await daemon.ended("lint"))["stop_reason"] == "stopped"


def test_the_skill_of_intervention_reaches_a_session_started_from_a_shell(tmp_path: Path) -> None:
    """Its blocks in one terminal; the first one needs a session that has a channel already."""
    reader = Reader.below(tmp_path, TASK_ID="own")
    gate, project = tmp_path / "gate", reader.home
    waits = {"tool": "Read", "input": {}, "result": "ok", "gate": str(gate)}
    brief = script(waits, {"echo_seen": True})
    (project / "brief.md").write_text(f"Work. {brief}")
    hooks = project / ".claude" / "hooks"
    hooks.mkdir(parents=True)
    settings = json.loads((ROOT / SKILL / "settings.json").read_text())
    main = json.dumps(settings).replace("--for subagents", "--for main")
    (hooks / "for-main.json").write_text(main)
    shutil.copy(ROOT / "python/src/hive_subagent_hook/main.py", hooks / "hive-subagent-hook.py")
    check, begin, follow, intervene = blocks(f"{SKILL}/SKILL.md", "sh")
    assert follow.text.startswith("tail -n +1 -F ")
    with reader.reading(project) as do:
        do([check, begin, replace(intervene, terminal=begin.terminal)])
        channel = next((project / "temp").glob("lint-*"))
        assert {file.name for file in channel.iterdir()} == {
            "_keyinfo.txt",
            "_intervene.txt",
            "_stop.txt",
        }
        gate.touch()
        wait = Block("", 0, "sh", "until [ -s result.txt ]; do sleep 0.1; done\n")
        shows = Block(
            "", 0, "sh", 'head -n 1 "temp/$TASK_ID/output.txt"\n', expected="… tool Read done…"
        )
        do([wait, shows])
    assert "[parent-stop] Cancelled: the branch was merged." in (project / "result.txt").read_text()
