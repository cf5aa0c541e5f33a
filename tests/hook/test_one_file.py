"""The hook runs at every tool use: one file, and no slow import."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .channel import HOOK, PYTHON, Channel, event

SLOW = {"re", "json", "enum", "typing", "collections", "functools", "contextlib", "subprocess"}


def test_the_file_works_alone_and_loads_nothing_slow(channel: Channel) -> None:
    alone = channel.project / "alone.py"
    shutil.copy(HOOK, alone)
    channel.put("_intervene.txt", "plan B")
    channel.put("_keyinfo.txt", "the port is 9")
    done = subprocess.run(
        [PYTHON, "-IS", "-X", "importtime", str(alone)],
        cwd=channel.project,
        env={"TASK_ID": channel.task},
        input=event(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert b"[PARENT INTERVENTION] plan B" in done.stdout
    lines = done.stderr.decode().splitlines()
    loaded = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time")}
    assert "os" in loaded
    assert not loaded & SLOW


def test_the_installed_command_answers_like_the_file(channel: Channel) -> None:
    channel.put("_intervene.txt", "plan B")
    command = "import sys; from hive_subagent_hook.main import main; sys.exit(main())"
    done = subprocess.run(
        [PYTHON, "-c", command],
        cwd=channel.project,
        env={"TASK_ID": channel.task, "PYTHONPATH": str(Path(HOOK).parent.parent)},
        input=event(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert b"[PARENT INTERVENTION] plan B" in done.stdout
