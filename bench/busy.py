"""Many busy runs at once: what they cost in memory, and how quick `status` is beside them."""

from __future__ import annotations

from pathlib import Path

import anyio

from bench.places import Caller, a_bare_server, a_brief, a_daemon, directive
from bench.table import Row, p99, spread

LINES = directive({"lines": 10_000_000, "interval": 0.5, "bytes": 500})
SETTLE_S = 1.0


async def measure(root: Path, *, quick: bool) -> list[Row]:
    """Idle memory, growth for each run, and the p99 of `status` over a no-op elsewhere."""
    runs, asked = (30, 50) if quick else (200, 400)
    one, all_, noop = list[float](), list[float](), list[float]()
    async with a_daemon(root / "busy") as (daemon, call), a_bare_server() as (pid, bare):
        await call("status")
        await bare("noop")
        await anyio.sleep(SETTLE_S)
        ours_idle, bare_idle = rss_kib(daemon.pid), rss_kib(pid)
        brief = str(a_brief(daemon))
        for _ in range(20):  # what is only needed once is not what a run costs
            await call("start", name="warm", prompt_file=brief, trigger=directive({"text": "x"}))
            await call("wait", names=["warm"])
        before = rss_kib(daemon.pid)
        await _start(call, runs, brief)
        await anyio.sleep(SETTLE_S)
        growth = (rss_kib(daemon.pid) - before) / runs
        for number in range(asked):
            one.append(await call.timed("status", name=f"busy-{number % runs}"))
            noop.append(await bare.timed("noop"))
            if number % 10 == 0:
                all_.append(await call.timed("status"))
                noop.append(await bare.timed("noop"))
        await _end(call, runs)
    note = f"{spread('status', one)}; {spread('no-op', noop)}"
    sizes = f"{ours_idle / 1024:.1f} MiB, bare {bare_idle / 1024:.1f} MiB"
    return [
        Row("RSS idle / bare server", ours_idle / bare_idle, 1.15, note=sizes),
        Row(f"RSS growth per run, {runs} at once", growth, 100, " KiB"),
        Row(f"status p99, {runs} busy / no-op p99", p99(one) / p99(noop), 2, note=note),
        Row("  status of all of them / no-op p99", p99(all_) / p99(noop), note=spread("", all_)),
    ]


async def _start(call: Caller, runs: int, brief: str) -> None:
    async with anyio.create_task_group() as tasks:
        limit = anyio.CapacityLimiter(4)

        async def start(name: str) -> None:
            async with limit:
                await call("start", name=name, prompt_file=brief, trigger=LINES)

        for number in range(runs):
            tasks.start_soon(start, f"busy-{number}")


async def _end(call: Caller, runs: int) -> None:
    async with anyio.create_task_group() as tasks:

        async def end(name: str) -> None:
            await call("interrupt", name=name, force=True)

        for number in range(runs):
            tasks.start_soon(end, f"busy-{number}")


def rss_kib(pid: int) -> int:
    """Resident memory."""
    for line in Path("/proc", str(pid), "status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise LookupError(f"no VmRSS of {pid}")
