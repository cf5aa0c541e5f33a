"""`start` over a raw spawn of the same stub to its first byte."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

import anyio
from chaos.daemon import Daemon

from bench.places import Caller, a_bare_server, a_brief, a_daemon, directive, spawn_stub
from bench.table import Row, spread

PROMPT = directive({"text": "done"})


async def measure(root: Path, *, quick: bool) -> list[Row]:
    """The ratio, and the floor that any MCP server has."""
    raw, floor, start = list[float](), list[float](), list[float]()
    async with a_daemon(root / "start") as (daemon, call), a_bare_server() as (_, noop):
        for number in range(12 if quick else 100):
            raw.append(await _raw(daemon))
            floor.append(await _raw(daemon) + await noop.timed("noop"))
            start.append(await _start(daemon, call, f"s{number}"))
    base = median(raw)
    note = f"{spread('raw', raw)}; {spread('start', start)}"
    return [
        Row("start / raw spawn to first byte", median(start) / base, 1.3, note=note),
        Row("  floor: raw spawn and a no-op tool / raw", median(floor) / base),
    ]


async def _raw(daemon: Daemon) -> float:
    began = time.perf_counter()
    process = spawn_stub(daemon, PROMPT)
    assert process.stdout is not None
    assert process.stdin is not None
    process.stdout.read(1)
    took = time.perf_counter() - began
    process.stdin.close()
    process.stdout.read()
    await anyio.to_thread.run_sync(process.wait)
    process.stdout.close()
    return took


async def _start(daemon: Daemon, call: Caller, name: str) -> float:
    brief = str(a_brief(daemon))
    took = await call.timed("start", name=name, prompt_file=brief, trigger=PROMPT)
    await call("wait", names=[name])
    return took
