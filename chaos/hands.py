"""Random interventions against random turns, by tool and by file, while daemons are killed.

Each word of an owner has to be heard once, in order, or be told as missed and heard later.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import anyio
import httpx2
from mcp.shared.exceptions import MCPError

from chaos.daemon import Daemon
from chaos.hearing import Heard, heard_in, judge
from chaos.owner import Owner, owner_of
from chaos.talk import Gone, Hands, Session, flush, run

WORKERS = 6
LIFE = 150
"""Words between two deaths of the daemon."""

SETTINGS: dict[str, Any] = {
    "max_running": 64,
    "interrupt_grace_s": 0.4,
    "exit_grace_s": 0.5,
    "resume_confirm_s": 60.0,
    "shutdown_grace_s": 3.0,
    "stop_grace_s": 0.6,
}


@dataclass(frozen=True)
class Report:
    """What came of it."""

    words: int
    runs: int
    deaths: int
    counts: Counter[str]
    wrong: list[str]


async def hands(root: Path, *, total: int, seed: int) -> Report:
    """Say `total` things to subagents of one daemon that dies now and then."""
    daemon = Daemon(root / "d", **SETTINGS)
    work = Hands(daemon, seed, total)
    random = Random(f"{seed}:hands")
    names = [f"h{number}" for number in range(WORKERS)]
    open_: dict[str, Session] = {}
    try:
        while not work.full:
            await daemon.start()
            await _life(work, names, open_, random)
        await daemon.start()
        async with owner_of(daemon) as owner:
            for session in open_.values():
                await flush(owner, work, session)
        await daemon.stop()
    finally:
        daemon.abandon()
    heard = {s.session_id: _heard(work, s.session_id) for s in work.sessions}
    wrong, counts = judge(work.words, heard, daemon.notices())
    runs = sum(session.runs for session in work.sessions)
    return Report(work.accepted, runs, work.deaths, counts, wrong)


def _heard(work: Hands, session_id: str) -> list[Heard]:
    found = work.transcript(session_id)
    return heard_in(found) if found else []


async def _life(work: Hands, names: list[str], open_: dict[str, Session], random: Random) -> None:
    """Let the workers speak until the daemon is killed, or is stopped with a SIGTERM."""
    enough = min(work.total, work.accepted + LIFE)
    over = anyio.Event()
    try:
        async with owner_of(work.daemon) as owner, anyio.create_task_group() as tasks:
            for name in names:
                seed = f"{work.seed}:{name}:{work.deaths}"
                tasks.start_soon(_worker, owner, work, name, open_, Random(seed), over)
            while work.accepted < enough:  # noqa: ASYNC110
                await anyio.sleep(0.05)
            await anyio.sleep(random.uniform(0, 0.5))
            if random.random() < 0.3:
                await work.daemon.stop()
            else:
                await work.daemon.kill()
            work.deaths += 1
            over.set()
            tasks.cancel_scope.cancel()
    except* (httpx2.TransportError, MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass  # what the transport makes of the daemon's death is no finding


async def _worker(
    owner: Owner,
    work: Hands,
    name: str,
    open_: dict[str, Session],
    random: Random,
    over: anyio.Event,
) -> None:
    """One name: sessions of a few runs, each flushed before the next one takes its name."""
    try:
        while not over.is_set():
            session = open_.setdefault(name, Session(name))
            if not session.session_id or random.random() < 0.75:
                await run(owner, work, session, random)
            else:
                await flush(owner, work, session)
                del open_[name]
    except* Gone:
        pass


def words_of(report: Report) -> str:
    """The counts in a few lines."""
    counts = "\n".join(f"  {what} {count}" for what, count in sorted(report.counts.items()))
    return (
        f"hands: {report.words} interventions in {report.runs} runs,"
        f" {report.deaths} deaths of the daemon\n{counts}\n  violations {len(report.wrong)}"
    )
