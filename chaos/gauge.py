"""What a daemon holds, read from outside: /proc and /healthz."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import anyio

from chaos.daemon import Daemon


@dataclass(frozen=True)
class Gauge:
    """One look. `rss_kib` is resident memory, `tasks` are those of the event loop."""

    rss_kib: int
    descriptors: int
    threads: int
    tasks: int

    def __str__(self) -> str:
        return (
            f"RSS {self.rss_kib / 1024:.1f} MiB, descriptors {self.descriptors},"
            f" threads {self.threads}, tasks {self.tasks}"
        )


async def look(daemon: Daemon) -> Gauge:
    """Read it now. The connection that asks is part of what is seen, always the same."""
    health = await anyio.to_thread.run_sync(_health, daemon.url)
    status = _status(daemon.pid)
    return Gauge(
        rss_kib=int(status["VmRSS"].split()[0]),
        descriptors=len(os.listdir(f"/proc/{daemon.pid}/fd")),
        threads=int(status["Threads"]),
        tasks=health["tasks"],
    )


def _health(url: str) -> dict[str, int]:
    with urlopen(f"{url}/healthz", timeout=60) as response:
        about: dict[str, int] = json.load(response)
    return about


def _status(pid: int) -> dict[str, str]:
    lines = Path("/proc", str(pid), "status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of the least-squares line through the points."""
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
