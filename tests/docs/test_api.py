"""The operator API's page, command for command (issue 13, 1)."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from support.daemon import Daemon

from docs.pages import Block, blocks

PAGE = "docs/reference/api.md"

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="the page uses curl")


def run(block: Block, daemon: Daemon) -> str:
    """What the commands of a block print; the daemon's stand-in for claude answers."""
    socket = str(daemon.runtime_dir / "operator.sock")
    done = subprocess.run(
        ["bash", "-e", "-c", block.text],
        env={**daemon.base_environment, "SOCKET": socket},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # 28: curl's own time is up
    assert done.returncode in (0, 28), done.stderr
    return done.stdout


def test_the_commands_answer_with_what_the_page_says(daemon: Daemon) -> None:
    """Issue 13, 1."""
    calls, follow = blocks(PAGE, "sh")
    answers = [json.loads(line) for line in run(calls, daemon).splitlines()]
    listed, begun, waited, one, output = answers
    assert listed["sessions"] == []
    assert begun["name"] == one["name"] == output["name"] == "lint"
    assert waited["done"] is True
    assert one["state"] == "idle"
    assert "turn ends" in output["output"]

    bounded = follow.text.replace("curl -N", "curl -sN --max-time 1")
    assert bounded != follow.text
    shown = run(Block(PAGE, 0, "sh", bounded), daemon)
    id, event, data = shown.splitlines()[:3]
    assert id.startswith("id: ")
    assert event == "event: stream_opened"
    assert json.loads(data.removeprefix("data: "))["last"] > 0
    assert follow.expected is not None
    assert follow.expected.splitlines()[1] == event
