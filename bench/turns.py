"""The next turn of a goal run over a fresh resume, each until the model does something."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

from bench.places import Caller, a_brief, a_daemon, directive
from bench.table import Row, spread

TURNS = 21


async def measure(root: Path, *, quick: bool) -> list[Row]:
    """Files that the stub touches tell when; a turn is the mean over a run of many."""
    turn, resume = list[float](), list[float]()
    async with a_daemon(root / "turns") as (daemon, call):
        brief = str(a_brief(daemon))
        for number in range(3 if quick else 20):
            marks = daemon.root / f"m{number}"
            marks.mkdir()
            turn.append(await _turns(call, brief, f"goal-{number}", marks))
            resume.append(await _resume(call, brief, f"again-{number}", marks))
    note = f"{spread('turn', turn)}; {spread('resume', resume)}"
    return [Row("second goal turn / fresh resume", median(turn) / median(resume), 0.1, note=note)]


async def _turns(call: Caller, brief: str, name: str, marks: Path) -> float:
    script = directive(turns=[[{"touch": str(marks / f"{n}")}] for n in range(TURNS)])
    await call("start", name=name, prompt_file=brief, goal=script, max_turns=TURNS)
    await call("wait", names=[name])
    first, last = ((marks / f"{n}").stat().st_mtime for n in (0, TURNS - 1))
    return (last - first) / (TURNS - 1)


async def _resume(call: Caller, brief: str, name: str, marks: Path) -> float:
    await call("start", name=name, prompt_file=brief, trigger=directive({"text": "one"}))
    await call("wait", names=[name])
    began = time.time()
    await call("continue", name=name, prompt=directive({"touch": str(marks / "resumed")}))
    await call("wait", names=[name])
    return (marks / "resumed").stat().st_mtime - began
