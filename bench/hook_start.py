"""What one run of the stand-alone hook costs, over a bare start of the interpreter.

    python bench/hook_start.py [--runs 60]

Each case and the bare `python3 -S -c pass` run in turn, side by side, so that both see the same
machine. Printed: the ratio of the medians. Exit 1 when a case of every tool use exceeds 2.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOOK = Path(__file__).parent.parent / "python/src/hive_subagent_hook/main.py"
PYTHON = getattr(sys, "_base_executable", sys.executable)  # the one that `python3` would start
GOAL = 2.0


def event(size: int) -> bytes:
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


def timed(argv: list[str], environment: dict[str, str], cwd: Path, given: bytes) -> float:
    begun = time.perf_counter()
    subprocess.run(
        argv, env=environment, cwd=cwd, input=given, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    runs = max(40, parser.parse_args().runs)
    with tempfile.TemporaryDirectory() as place:
        project = Path(place)
        channel = project / "temp" / "watched"
        channel.mkdir(parents=True)
        plain = {"PATH": os.environ["PATH"]}
        hook = [PYTHON, "-IS", str(HOOK)]
        cases = {
            "no TASK_ID": (plain, event(400), None),
            "no channel": ({**plain, "TASK_ID": "elsewhere"}, event(400), None),
            "idle channel": ({**plain, "TASK_ID": "watched"}, event(400), None),
            "idle channel, 30 kB answer": ({**plain, "TASK_ID": "watched"}, event(30_000), None),
            "intervention": ({**plain, "TASK_ID": "watched"}, event(400), "_intervene.txt"),
        }
        bare: list[float] = []
        taken: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(runs):
            for name, (environment, given, file) in cases.items():
                if file:
                    (channel / file).write_text("Use plan B.\n")
                bare.append(timed([PYTHON, "-S", "-c", "pass"], plain, project, b""))
                taken[name].append(timed(hook, environment, project, given))
    base = statistics.median(bare)
    print(f"bare python3 -S -c pass: {base * 1000:.1f} ms (median of {len(bare)})")
    ratios = {name: statistics.median(times) / base for name, times in taken.items()}
    for name, ratio in ratios.items():
        print(f"hook over bare, {name}: {ratio:.2f} (goal <= {GOAL})")
    return 1 if max(ratios.values()) > GOAL else 0


if __name__ == "__main__":
    sys.exit(main())
