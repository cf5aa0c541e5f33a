"""What one run of the stand-alone hook costs, over a bare start of the interpreter.

Each case and the bare `python3 -S -c pass` run in turn, side by side, so that both see the same
machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import anyio.to_thread

from bench.table import Row, spread

HOOK = Path(__file__).parent.parent / "python/src/hive_subagent_hook/main.py"
PYTHON = getattr(sys, "_base_executable", sys.executable)  # the one that `python3` would start
GOAL = 2.0


async def measure(root: Path, *, quick: bool) -> list[Row]:
    """The ratios of the medians, for each thing that a hook can meet."""
    return await anyio.to_thread.run_sync(_measure, root / "hook", 10 if quick else 60)


def _measure(project: Path, rounds: int) -> list[Row]:
    channel = project / "temp" / "watched"
    channel.mkdir(parents=True)
    plain = {"PATH": os.environ["PATH"]}
    watched = {**plain, "TASK_ID": "watched"}
    hook = [PYTHON, "-IS", str(HOOK)]
    cases = {
        "no TASK_ID": (plain, _event(400), None),
        "no channel": ({**plain, "TASK_ID": "elsewhere"}, _event(400), None),
        "idle channel": (watched, _event(400), None),
        "idle channel, 30 kB answer": (watched, _event(30_000), None),
        "intervention": (watched, _event(400), "_intervene.txt"),
    }
    bare: list[float] = []
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (environment, given, file) in cases.items():
            if file:
                (channel / file).write_text("Use plan B.\n")
            bare.append(_timed([PYTHON, "-S", "-c", "pass"], plain, project, b""))
            taken[name].append(_timed(hook, environment, project, given))
    base = median(bare)
    return [
        Row(f"hook / bare python3, {name}", median(times) / base, GOAL, note=spread("hook", times))
        for name, times in taken.items()
    ]


def _event(size: int) -> bytes:
    """A PostToolUse event whose tool answered `size` bytes."""
    return json.dumps(
        {
            "session_id": "6a0f",
            "cwd": "/srv/project",
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "make test", "description": "Run the tests"},
            "tool_response": {"stdout": "x" * size, "stderr": "", "interrupted": False},
        }
    ).encode()


def _timed(argv: list[str], environment: dict[str, str], cwd: Path, given: bytes) -> float:
    begun = time.perf_counter()
    subprocess.run(
        argv, env=environment, cwd=cwd, input=given, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - begun
