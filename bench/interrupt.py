"""`interrupt(force)` until the tree is gone and the notice accepted, over killpg and reap."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from statistics import median
from typing import Any

import anyio
from chaos.daemon import Daemon
from chaos.sink import listening

from bench.places import Caller, a_brief, a_daemon, directive, spawn_stub
from bench.table import Row, p99, spread


class Notices:
    """Wakes whoever waits for the notice of a name."""

    def __init__(self) -> None:
        self._come: dict[str, anyio.Event] = {}

    def __call__(self, notice: dict[str, Any]) -> None:
        self.of(notice["name"]).set()

    def of(self, name: str) -> anyio.Event:
        """Set once it has been delivered."""
        return self._come.setdefault(name, anyio.Event())


async def measure(root: Path, *, quick: bool) -> list[Row]:
    """The difference of the p99s, in milliseconds."""
    ours, bare = list[float](), list[float]()
    socket, notices = root / "notices.sock", Notices()
    async with (
        listening(socket, notices),
        a_daemon(root / "interrupt", todo_sinks=[f"unix:{socket}"]) as (daemon, call),
    ):
        for number in range(8 if quick else 100):
            tool = daemon.root / f"tool{number}"
            ours.append(await _ours(daemon, call, f"i{number}", tool, notices))
            bare.append(await _bare(daemon, tool.with_suffix(".bare")))
    above = (p99(ours) - p99(bare)) * 1000
    note = f"{spread('ours', ours)}; {spread('bare', bare)}"
    return [
        Row("interrupt(force) p99 above killpg and reap", above, 50, " ms", note=note),
        Row("  median above", (median(ours) - median(bare)) * 1000, unit=" ms"),
    ]


def _prompt(tool: Path) -> str:
    return directive({"bash": f"echo $$ >{tool}.new; mv {tool}.new {tool}; sleep 3600; :"})


async def _ours(daemon: Daemon, call: Caller, name: str, tool: Path, notices: Notices) -> float:
    brief = str(a_brief(daemon))
    await call("start", name=name, prompt_file=brief, trigger=_prompt(tool))
    await _until(tool)
    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(notices.of(name).wait)
        await call("interrupt", name=name, force=True)
    return time.perf_counter() - began


async def _bare(daemon: Daemon, tool: Path) -> float:
    process = spawn_stub(daemon, _prompt(tool))
    shell = int(await _until(tool))
    began = time.perf_counter()
    os.killpg(process.pid, signal.SIGKILL)
    os.killpg(shell, signal.SIGKILL)  # the tool has a session of its own
    process.wait()
    took = time.perf_counter() - began
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    return took


async def _until(file: Path) -> str:
    """What another process writes into a file, once it is there."""
    while not await anyio.Path(file).exists():  # noqa: ASYNC110  (nothing tells of it)
        await anyio.sleep(0.005)
    return await anyio.Path(file).read_text()
