"""32 delegated children over a plain pool of the same spawns, as many of them at once."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from statistics import median

import anyio
import anyio.to_thread
from chaos.daemon import Daemon

from bench.places import Caller, calling, directive, spawn_stub
from bench.table import Row, spread

CHILDREN, AT_ONCE = 32, 8
# a model that thinks for a second in all, which is little, and one that takes no time
BRISK = directive({"sleep": 0.5}, {"bash": "true"}, {"sleep": 0.5}, {"text": "done"})
IDLE = directive({"bash": "true"}, {"text": "done"})


async def measure(root: Path, *, quick: bool) -> list[Row]:
    """The ratio of the times from the first spawn to the last end."""
    daemon = Daemon(root / "delegation", max_running=AT_ONCE)
    name = f"delegate {CHILDREN}, {AT_ONCE} at once / plain pool"
    try:
        await daemon.start()
        async with calling(daemon.url) as call:
            rows = [
                await _compared(name, daemon, call, BRISK, 2 if quick else 5, goal=1.1),
                await _compared(
                    "  children that take no time", daemon, call, IDLE, 2 if quick else 9
                ),
            ]
        await daemon.stop()
    finally:
        daemon.abandon()
    return rows


async def _compared(
    name: str, daemon: Daemon, call: Caller, prompt: str, rounds: int, *, goal: float | None = None
) -> Row:
    pool, delegated = list[float](), list[float]()
    for _ in range(rounds):
        pool.append(await _pool(daemon, prompt))
        delegated.append(await _delegate(call, prompt))
    ratio = median(d / p for d, p in zip(delegated, pool, strict=True))
    note = f"{spread('pool', pool)}; {spread('delegation', delegated)}"
    return Row(name, ratio, goal, note=note)


async def _pool(daemon: Daemon, prompt: str) -> float:
    limiter = anyio.CapacityLimiter(AT_ONCE)
    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(CHILDREN):
            tasks.start_soon(
                lambda: anyio.to_thread.run_sync(_run, daemon, prompt, limiter=limiter)
            )
    return time.perf_counter() - began


def _run(daemon: Daemon, prompt: str) -> None:
    """One child from its spawn to its end, its answer read."""
    process: subprocess.Popen[bytes] = spawn_stub(daemon, prompt)
    assert process.stdout is not None
    assert process.stdin is not None
    for line in process.stdout:
        if b'"type":"result"' in line:
            break
    process.stdin.close()
    process.stdout.read()
    process.stdout.close()
    process.wait()


async def _delegate(call: Caller, prompt: str) -> float:
    began = time.perf_counter()
    tasks = [{"role": "worker", "task": prompt}] * CHILDREN
    reply = await call("delegate", tasks=tasks, timeout_s=120)
    waited = await call("wait", names=[reply["delegation"]], timeout_s=120)
    took = time.perf_counter() - began
    results = {session["result"] for session in waited["sessions"]}
    if results != {"done"}:
        raise RuntimeError(f"not every child finished: {waited}")
    return took
