"""What a newcomer sees."""

from __future__ import annotations

import os
import shutil
import subprocess

from support import programs

PROGRAM = programs.ours("hive-subagent-demo")


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The demonstration where PATH has none of our programs, as with `nix run` (issue 11, 2)."""
    folders = os.environ["PATH"].split(":")
    strange = [folder for folder in folders if not shutil.which(PROGRAM.name, path=folder)]
    return subprocess.run(
        [PROGRAM, *arguments],
        env={**os.environ, "PATH": ":".join(strange)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_three_subagents_end_in_three_ways_and_each_is_told_once() -> None:
    shown = demo()
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stderr == ""
    lines = shown.stdout.splitlines()
    kinds = sorted(line.split("]")[0] for line in lines if line.startswith("["))
    assert kinds == ["[finished", "[goal_reached", "[killed"]
    assert "it did NOT finish" in shown.stdout
    assert "turn 3 of 5" in shown.stdout


def test_a_claude_that_is_not_there_is_named() -> None:
    shown = demo("--claude", "/nowhere/claude")
    assert shown.returncode == 1
    assert "/nowhere/claude" in shown.stdout + shown.stderr
    assert "Traceback" not in shown.stderr
