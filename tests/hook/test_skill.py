"""The skill's snippet is what people paste: it must work as it stands."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .channel import HOOK, PYTHON, Channel, event

SKILL = Path(__file__).parents[2] / "docs" / "skills" / "subagent-intervention"
SNIPPET: dict[str, Any] = json.loads((SKILL / "settings.json").read_text())


def test_the_snippet_covers_tools_that_succeed_and_tools_that_fail() -> None:
    assert set(SNIPPET["hooks"]) == {"PostToolUse", "PostToolUseFailure"}


@pytest.mark.parametrize("name", ["PostToolUse", "PostToolUseFailure"])
def test_the_command_of_the_snippet_hands_over_an_intervention(channel: Channel, name: str) -> None:
    (entry,) = SNIPPET["hooks"][name]
    (hook,) = entry["hooks"]
    copy = channel.project / ".claude" / "hooks" / "hive-subagent-hook.py"
    copy.parent.mkdir(parents=True)
    shutil.copy(HOOK, copy)
    (channel.project / "bin").mkdir()
    (channel.project / "bin" / "python3").symlink_to(PYTHON)
    channel.put("_intervene.txt", "plan B")
    done = subprocess.run(
        ["/bin/sh", "-c", hook["command"]],
        cwd=channel.project,
        env={
            "PATH": f"{channel.project / 'bin'}:{os.environ['PATH']}",
            "TASK_ID": channel.task,
            "CLAUDE_PROJECT_DIR": str(channel.project),
        },
        input=event(name, agent_id="a6b6"),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == b""
    assert json.loads(done.stdout)["reason"] == "[PARENT INTERVENTION] plan B"


def test_the_hook_is_copied_out_of_the_environment_that_the_readme_makes(tmp_path: Path) -> None:
    made = tmp_path / "hive" / "bin" / "python3"
    made.parent.mkdir(parents=True)
    made.symlink_to(sys.executable)
    (step,) = re.findall(r"```sh\n( +python=.+?)```", (SKILL / "SETUP.md").read_text(), re.DOTALL)
    environment = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(HOOK.parents[1]),
    }
    subprocess.run(["/bin/sh", "-euc", step], cwd=tmp_path, env=environment, check=True, timeout=60)
    copy = tmp_path / ".claude" / "hooks" / "hive-subagent-hook.py"
    assert copy.read_bytes() == HOOK.read_bytes()


@pytest.mark.parametrize(
    "page", sorted(SKILL.parent.rglob("*.md")), ids=lambda page: f"{page.parent.name}-{page.stem}"
)
def test_the_links_of_the_skills_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    if page.name == "SKILL.md":
        assert re.match(r"---\nname: [a-z-]+\ndescription: .+\n---\n", text)
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target
