"""CPU for each megabyte of stream: the daemon, a raw loop, and claude-agent-sdk.

`ours` is the reader alone; `daemon` the whole process, which also keeps `output.txt` for an owner
who follows what is said.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

import anyio
from chaos.daemon import Daemon

from bench.places import ROOT, Caller, a_brief, a_daemon
from bench.table import Row

SIZES = {400: 8.0, 2000: 4.0}
"""Bytes of a line, and how many times less than the SDK the whole daemon should take."""

WHOLE = 64
"""Megabytes that one run of the daemon prints: its two calls are a small part of that."""


async def measure(root: Path, *, quick: bool) -> list[Row]:
    """In turn, so that all see the same machine; the SDK only where it is installed."""
    readers = ["raw", "daemon"]
    if importlib.util.find_spec("claude_agent_sdk") is not None:
        readers.append("sdk")
    megabytes, rounds = (16, 1) if quick else (64, 7)
    rows: list[Row] = []
    writer = str(ROOT / "bench" / "writer.py")
    async with a_daemon(root / "stream", claude_bin=writer) as (daemon, call):
        for tools in (0,) if quick else (0, 1):
            taken: dict[tuple[str, int], list[float]] = defaultdict(list)
            for _ in range(rounds):
                for size in SIZES:
                    for reader in readers:
                        # the SDK is so much slower that less of it is as exact
                        amount = megabytes // 4 if reader == "sdk" else megabytes
                        order = f"{size} {amount} {tools}"
                        taken[reader, size].append(await _reader_ms(reader, order) / amount)
                    whole = await _daemon_ms(daemon, call, f"{size} {WHOLE} {tools}")
                    taken["whole", size].append(whole / WHOLE)
            for size, least in SIZES.items():
                ms = {reader: median(taken[reader, size]) for reader in [*readers, "whole"]}
                rows += _rows(ms, f"{size} B" + (", tools" if tools else ""), least)
    return rows


def _rows(ms: dict[str, float], what: str, least: float) -> list[Row]:
    note = ", ".join(f"{reader} {value:.2f}" for reader, value in ms.items()) + " ms/MB"
    rows = [Row(f"CPU per MB: ours / raw, {what}", ms["daemon"] / ms["raw"], 2, note=note)]
    if "sdk" in ms:
        rows.append(Row(f"  SDK / ours, {what}", ms["sdk"] / ms["daemon"]))
        whole = ms["sdk"] / ms["whole"]
        rows.append(Row(f"  SDK / whole daemon, {what}", whole, least, at_least=True))
    return rows


async def _reader_ms(reader: str, order: str) -> float:
    done = await anyio.run_process(
        [sys.executable, "-m", "bench.readers", reader, order], cwd=ROOT, stderr=subprocess.PIPE
    )
    seconds, lines = done.stdout.split()
    size, megabytes, _ = map(int, order.split())
    if int(lines) < megabytes * (1 << 20) // (size + 200):
        raise RuntimeError(f"{reader} read only {int(lines)} lines")
    return float(seconds) * 1000


async def _daemon_ms(daemon: Daemon, call: Caller, order: str) -> float:
    before = _cpu_ns(daemon.pid)
    await call("start", name="writer", prompt_file=str(a_brief(daemon)), trigger=order)
    await call("wait", names=["writer"])
    return (_cpu_ns(daemon.pid) - before) / 1e6


def _cpu_ns(pid: int) -> int:
    threads = Path("/proc", str(pid), "task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)
