"""From exec to the first answer over HTTP, beside the bare server."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

from chaos.daemon import Daemon

from bench.places import answering, free_port, spawn_bare
from bench.table import Row, spread


async def measure(root: Path, *, quick: bool) -> list[Row]:
    """The ratio of the medians."""
    ours, bare = list[float](), list[float]()
    for number in range(3 if quick else 20):
        ours.append(await _ours(root / f"cold{number}"))
        bare.append(await _bare())
    note = f"{spread('ours', ours)}; {spread('bare', bare)}"
    return [Row("cold start / bare server", median(ours) / median(bare), 1.15, note=note)]


async def _ours(root: Path) -> float:
    port = free_port()
    daemon = Daemon(root)
    began = time.perf_counter()
    daemon.spawn(port=port)
    try:
        await answering(port)
        took = time.perf_counter() - began
        await daemon.stop()
    finally:
        daemon.abandon()
    return took


async def _bare() -> float:
    port = free_port()
    began = time.perf_counter()
    process = spawn_bare(port)
    try:
        await answering(port)
        return time.perf_counter() - began
    finally:
        process.kill()
        process.wait()
