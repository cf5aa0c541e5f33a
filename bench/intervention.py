"""From `_intervene.txt` to the model at its next step, and what idle channels cost."""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import anyio
from chaos.daemon import Daemon

from bench.places import Caller, a_brief, a_daemon, directive
from bench.table import Row, spread

SETTLE_S = 3.0


async def measure(root: Path, *, quick: bool) -> list[Row]:
    """Milliseconds above a step without a word, and wake-ups over those of a daemon without any."""
    async with a_daemon(root / "steps") as (daemon, call):
        told, silent, late = await _steps(daemon, call, 20 if quick else 200)
    runs, window_s = (10, 3.0) if quick else (50, 20.0)
    with_channels = await _wakeups(root / "with", runs, window_s, channels=True)
    without = await _wakeups(root / "without", runs, window_s, channels=False)
    above = (median(told) - median(silent)) * 1000
    note = f"{spread('told', told)}; {spread('silent', silent)}; {late} a step later"
    rates = f"{with_channels:.1f} and {without:.1f} per s"
    return [
        Row("_intervene.txt to the model, above the step", above, 10, " ms", note=note),
        Row(f"wake-ups, {runs} idle channels / none", with_channels / without, 1.05, note=rates),
    ]


async def _steps(daemon: Daemon, call: Caller, rounds: int) -> tuple[list[float], list[float], int]:
    """Seconds from the end of a tool to the next step: with a word written just before, without.

    The third is how many words came too late for that step, and so at the one after it.
    """
    gates, held = daemon.root / "gates", daemon.root / "held"
    gates.mkdir()
    held.mkdir()
    steps: list[dict[str, Any]] = []
    for number in range(2 * rounds):
        tool = {"tool": "Read", "input": {}, "result": "x", "gate": str(gates / f"{number}")}
        steps += [tool, {"touch": str(held / f"{number}")}]
    prompt = directive(*steps, {"echo_seen": True})
    brief = str(a_brief(daemon))
    reply = await call("start", name="steps", prompt_file=brief, trigger=prompt)
    channel = daemon.runtime / "channels" / "steps"
    took = list[float]()
    for number in range(2 * rounds):
        began = time.perf_counter()
        if number % 2 == 0:
            (channel / ".draft").write_text(f"word {number};")
            (channel / ".draft").rename(channel / "_intervene.txt")
        (gates / f"{number}").touch()
        while not (held / f"{number}").exists():  # noqa: ASYNC110  (nothing tells of it)
            await anyio.sleep(0.0002)
        took.append(time.perf_counter() - began)
    await call("wait", names=["steps"])
    return took[::2], took[1::2], _late(daemon, reply["session_id"], rounds)


def _late(daemon: Daemon, session_id: str, rounds: int) -> int:
    """How many words came at a later step than they were written in; all have to come."""
    [transcript] = (daemon.claude / "projects").glob(f"*/{session_id}.jsonl")
    entries = [json.loads(line) for line in transcript.read_bytes().splitlines()]
    steps, late = 0, 0
    for entry in entries:
        if entry["type"] == "attachment" and "content" in entry["attachment"]:
            late += f"word {steps - 1};" not in entry["attachment"]["content"][0]
            rounds -= 1
        elif entry["type"] == "user" and isinstance(entry["message"]["content"], list):
            steps += 1
    if rounds:
        raise RuntimeError(f"{rounds} words did not come")
    return late


async def _wakeups(root: Path, runs: int, window_s: float, *, channels: bool) -> float:
    """How often a second the daemon is woken while its runs wait for the API."""
    async with a_daemon(root, channels=channels) as (daemon, call):
        brief = str(a_brief(daemon))
        for number in range(runs):
            waiting = directive({"hang": True})
            await call("start", name=f"idle-{number}", prompt_file=brief, trigger=waiting)
        await anyio.sleep(SETTLE_S)
        before = switches(daemon.pid)
        await anyio.sleep(window_s)
        woken = switches(daemon.pid) - before
        async with anyio.create_task_group() as tasks:
            for number in range(runs):
                tasks.start_soon(_end, call, f"idle-{number}")
    return woken / window_s


async def _end(call: Caller, name: str) -> None:
    await call("interrupt", name=name, force=True)


def switches(pid: int) -> int:
    """How often the threads of a process have gone to sleep of their own will."""
    total = 0
    for status in Path("/proc", str(pid), "task").glob("*/status"):
        for line in status.read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                total += int(line.split()[1])
    return total
