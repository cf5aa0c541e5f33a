"""Load for a long time: is the daemon as small and as quick afterwards as it was before?

    python -m chaos.soak --runs 10000 --at-once 200

First `--at-once` subagents run at the same time while the tools are asked; then `--runs` of them
come and go, a few at once. Printed are memory, descriptors, threads and tasks, and their slopes.
Exit code 1 when a run ended otherwise than its script says, or something is left of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from random import Random

import anyio

from chaos.counts import counts
from chaos.daemon import Daemon
from chaos.gauge import Gauge, look, percentile, slope
from chaos.ledger import Call, Findings, judge
from chaos.owner import Owner, owner_of
from chaos.plans import FINISHED, Plan
from chaos.work import Work, left_alive

LANES = 6
NAMES = 20  # of each lane, used again and again: the list of all names is meant to grow
SAMPLES = 50
WARM_UP = 0.2  # of the samples: caches fill at first
ASKED = 300


async def soak(root: Path, *, runs: int, at_once: int) -> Findings:
    """Both parts; prints what it sees."""
    daemon = Daemon(root / "d", max_running=at_once + LANES, resume_confirm_s=60.0)
    work = Work(0, at_once + runs)
    try:
        await daemon.start()
        async with owner_of(daemon) as owner:
            await _many_in_a_row(owner, work, LANES * 5, [])  # every code path once
            before = await look(daemon)
            print(f"idle: {before}", flush=True)
            await _many_at_once(owner, work, at_once, before)
            samples: list[tuple[int, Gauge]] = []
            asked = await _many_in_a_row(owner, work, runs, samples)
            _print_slopes(samples)
            _print_latencies(f"tools during {runs} runs in a row", asked)
            print(f"idle again: {await look(daemon)}", flush=True)
        left = left_alive(daemon, work, "after the last run")
        await daemon.stop()
    finally:
        daemon.abandon()
    notices = daemon.notices()
    return Findings(work.calls, notices, [*judge(work.calls, notices), *left])


async def _many_at_once(owner: Owner, work: Work, at_once: int, before: Gauge) -> None:
    busy = Plan("busy", (({"lines": 1_000_000, "interval": 0.5},),), frozenset())
    calls = [work.new("start", f"busy-{n}", Random(n), busy) for n in range(at_once)]
    await _in_lanes(calls, owner.make)
    during = await look(owner.daemon)
    growth = (during.rss_kib - before.rss_kib) / max(1, at_once)
    print(f"{at_once} at once: {during}; {growth:.1f} KiB for each run", flush=True)
    asked = [await _timed(owner, calls[n % at_once].name) for n in range(ASKED)] if calls else []
    _print_latencies(f"tools beside {at_once} busy runs", asked)

    async def end(call: Call) -> None:
        call.interrupted = await owner.interrupt(call, force=True)

    await _in_lanes(calls, end)
    print(f"after them: {await look(owner.daemon)}", flush=True)


async def _many_in_a_row(
    owner: Owner, work: Work, runs: int, samples: list[tuple[int, Gauge]]
) -> list[float]:
    """`runs` short ones over a few lanes; how long `status` took meanwhile, in seconds."""
    done, asked = 0, list[float]()
    every = max(1, runs // SAMPLES)

    async def lane(number: int) -> None:
        nonlocal done
        for turn in range(number, runs, LANES):
            token = work.token(len(work.calls))
            plan = Plan("short", (({"text": token},),), frozenset({FINISHED}), says=token)
            name = f"lane-{number}-{turn // LANES % NAMES}"
            call = work.new("start", name, Random(turn), plan)
            if await owner.make(call):
                await owner.tool("wait", names=[name])
            done += 1
            if done % every == 0:
                asked.append(await _timed(owner, name))
                samples.append((done, await look(owner.daemon)))

    async with anyio.create_task_group() as tasks:
        for number in range(LANES):
            tasks.start_soon(lane, number)
    return asked


async def _timed(owner: Owner, name: str) -> float:
    began = time.perf_counter()
    await owner.tool("status", name=name)
    return time.perf_counter() - began


async def _in_lanes(calls: Iterable[Call], act: Callable[[Call], Awaitable[object]]) -> None:
    rest = iter(calls)

    async def lane() -> None:
        for call in rest:
            await act(call)

    async with anyio.create_task_group() as tasks:
        for _ in range(LANES):
            tasks.start_soon(lane)


def _print_slopes(samples: list[tuple[int, Gauge]]) -> None:
    settled = samples[int(len(samples) * WARM_UP) :]
    if len(settled) < 3:
        return
    runs = [done / 1000 for done, _ in settled]
    print(f"slopes for 1,000 runs, over {settled[-1][0] - settled[0][0]} of them:")
    for what in ("rss_kib", "descriptors", "threads", "tasks"):
        values = [float(getattr(gauge, what)) for _, gauge in settled]
        print(f"  {what} {slope(runs, values):+.2f} (from {values[0]:.0f} to {values[-1]:.0f})")


def _print_latencies(what: str, seconds: list[float]) -> None:
    if seconds:
        middle, most = (percentile(seconds, share) * 1000 for share in (0.5, 0.99))
        print(f"{what}: status median {middle:.1f} ms, p99 {most:.1f} ms, n {len(seconds)}")


def main() -> int:
    """Read the arguments, soak, print."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="one after the other")
    parser.add_argument("--at-once", type=int, default=200, help="before that, at the same time")
    arguments = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hive-soak-") as place:
        findings = anyio.run(
            lambda: soak(Path(place), runs=arguments.runs, at_once=arguments.at_once)
        )
    told = ", ".join(f"{kind} {count}" for kind, count in counts(findings).most_common())
    print(f"{len(findings.calls)} calls in {time.monotonic() - began:.0f} s: {told}")
    for violation in findings.violations:
        print(f"VIOLATION: {violation}")
    return 1 if findings.violations else 0


if __name__ == "__main__":
    sys.exit(main())
