"""Faults of the machine at random moments of many runs: EMFILE, ENOSPC, EIO.

No notice may be lost, no ending may be another one than it was, and no child may get more than its
ceiling. A call may be refused.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any

import anyio
import httpx2
from mcp.shared.exceptions import MCPError

from chaos.daemon import Daemon
from chaos.faults import NotAllowed, SmallDisk, no_descriptors, small_disk
from chaos.ledger import Call, Findings, Notice, Violation, judge
from chaos.owner import Owner, owner_of
from chaos.plans import dying, finishing, hanging, refused
from chaos.storm import SETTINGS
from chaos.work import Work, left_alive

LIFE = 25
"""Calls of one life of the daemon, about."""

WORKERS = 6
CHILDREN = 4
DELIVERY_S = 60.0

_FLAGS = ("--tools", "--disallowedTools", "--allowedTools", "--permission-mode", "--dangerously")
_MAKERS = {finishing: 6, hanging: 2, dying: 2, refused: 1}

# what a daemon's end is to the client of its last calls
_GONE = (
    httpx2.TransportError,
    MCPError,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
)


@dataclass
class Site:
    """What the parts of this plan share."""

    daemon: Daemon
    work: Work
    random: Random
    disk: SmallDisk | None
    chance: Path
    ceilings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    found: list[Violation] = field(default_factory=list)
    faults: int = 0
    probes: int = 0


class _Ended(Exception):
    """The daemon of this life is gone, and so is whoever called it."""


async def machine(root: Path, *, total: int, seed: int) -> Findings:
    """Run about `total` calls over many lives of a daemon, among faults."""
    chance = root / "chance"
    chance.write_bytes(b"\0")
    state = root / "d" / "state"
    daemon = Daemon(
        root / "d",
        program=(sys.executable, "-m", "chaos.failing"),
        environment={
            "CHAOS_BELOW": str(state),
            "CHAOS_CHANCE": str(chance),
            "PYTHONPATH": str(Path(__file__).parents[1]),
        },
        **SETTINGS,
    )
    with _disk(state) as disk:
        site = Site(daemon, Work(seed, total), Random(f"{seed}:machine"), disk, chance)
        try:
            await daemon.start()
            await _hand_out(site)
            while not site.work.full:
                await _life(site)
            site.found += await _settled(site)
            if await daemon.stop():
                site.found.append(Violation("the daemon did not exit with 0 after SIGTERM"))
            site.found += left_alive(daemon, site.work, "after the daemon's stop")
            site.found += [Violation(f"set aside: {file.name}") for file in state.rglob("*.broken")]
        finally:
            daemon.abandon()
        notices = [each for each in daemon.notices() if each["kind"] != "delegation"]
        # the notices name files on this disk
        wrong = [*judge(_those_that_began(site, notices), notices), *site.found]
    print(f"  {site.faults} spells of faults, {site.probes} children went on", flush=True)
    return Findings(site.work.calls, notices, wrong)


def _those_that_began(site: Site, notices: Sequence[Notice]) -> list[Call]:
    """Without the calls of children that nobody answered and that began nothing.

    Calls of one child come one after the other, so a notice is of the last one before it.
    """
    kept = [call for call in site.work.calls if call.name not in site.ceilings]
    for name in site.ceilings:
        calls = [call for call in site.work.calls if call.name == name]
        told = [str(notice["at"]) for notice in notices if notice["name"] == name]
        ends = [datetime.fromisoformat(at).timestamp() for at in told]
        for call, after in zip_longest(calls, calls[1:]):
            until = after.sent if after is not None else math.inf
            if call.answer != "lost" or any(call.sent <= end < until for end in ends):
                call.session_id = site.sessions[name]
                kept.append(call)
    return kept


@contextmanager
def _disk(state: Path) -> Iterator[SmallDisk | None]:
    try:
        with small_disk(state, size="256m") as disk:
            yield disk
    except NotAllowed as error:
        print(f"  NO full disks: nothing can be mounted here ({error})", flush=True)
        yield None


async def _hand_out(site: Site) -> None:
    """Children with a ceiling, and how claude is called for each."""
    async with owner_of(site.daemon) as owner:
        tasks = [{"task": "[[STUB {}]]", "role": "scout"} for _ in range(CHILDREN)]
        reply = await owner.tool("delegate", tasks=tasks)
        data = reply.structured_content or {}
        await owner.tool("wait", names=[data["delegation"]], timeout_s=60)
        for name in data["names"]:
            while not site.ceilings.get(name):
                call = _again(site, name)
                if not await owner.make(call):
                    raise AssertionError(call.error)
                site.ceilings[name] = _flags(call.pid)
                site.sessions[name] = call.session_id
                await owner.see_out(call, site.work.token(call.number))


async def _life(site: Site) -> None:
    """Calls among faults, then an end of the daemon, and what the next one says."""
    until = min(site.work.total, len(site.work.calls) + LIFE)
    before = len(site.work.calls)
    try:
        async with owner_of(site.daemon) as owner, anyio.create_task_group() as tasks:
            tasks.start_soon(_faults, site)
            for number in range(WORKERS):
                tasks.start_soon(_work, site, owner, number, until)
            for name in site.ceilings:
                tasks.start_soon(_probe, site, owner, name)
            tasks.start_soon(_end, site, until)
    except* (_Ended, *_GONE):
        pass
    site.chance.write_bytes(b"\0")
    if site.disk is not None:
        site.disk.free()
    for call in site.work.calls[before:]:
        view = call.view or {}
        if not view.get("stop_reason") or view.get("cause") == "daemon_stop":
            # its end may have been the daemon's, or an interrupt whose answer did not come any more
            call.view, call.daemon_died, call.interrupted = None, True, True
    site.daemon.abandon()
    await site.daemon.start()
    site.found += left_alive(site.daemon, site.work, "once the next daemon is up")
    site.found += await _settled(site, since=before)


async def _work(site: Site, owner: Owner, number: int, until: int) -> None:
    while len(site.work.calls) < until:
        random = Random(site.random.random())
        count = len(site.work.calls)
        [make] = random.choices(list(_MAKERS), list(_MAKERS.values()))
        plan = make(random, site.work.token(count))
        call = site.work.new("start", f"m{number}-{count}", random, plan)
        call.resumable = False  # it may be refused
        answered = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(owner.pester, [call], random, answered)
            well = await owner.make(call)
            answered.set()
            if well:
                await owner.see_out(call, site.work.token(call.number))


async def _probe(site: Site, owner: Owner, name: str) -> None:
    """A child goes on by itself: it is called as it was before the faults, or refused."""
    for _ in range(3):
        call = _again(site, name)
        if await owner.make(call):
            site.probes += 1
            flags = _flags(call.pid)
            if flags and flags != site.ceilings[name]:
                site.found.append(Violation(f"raised permission: {flags}", call))
            await owner.see_out(call, site.work.token(call.number))
            return


async def _faults(site: Site) -> None:
    """One spell after another."""
    kinds: list[Callable[[], AbstractContextManager[None]]] = [
        partial(no_descriptors, site.daemon.pid),
        partial(_failing, site),
    ]
    if site.disk is not None:
        kinds.append(site.disk.kept_full)
    while True:
        await anyio.sleep(site.random.uniform(0, 1.5))
        with suppress(ProcessLookupError), site.random.choice(kinds)():
            site.faults += 1
            await anyio.sleep(site.random.uniform(0.02, 0.5))


@contextmanager
def _failing(site: Site) -> Iterator[None]:
    site.chance.write_bytes(bytes([site.random.choice([2, 8, 64])]))
    try:
        yield
    finally:
        site.chance.write_bytes(b"\0")


async def _end(site: Site, until: int) -> None:
    """The daemon's end amid the last calls of its life, whatever fault there is just then."""
    while len(site.work.calls) < until:  # noqa: ASYNC110
        await anyio.sleep(0.02)
    await anyio.sleep(site.random.uniform(0, 1.0))
    if site.random.random() < 0.5:
        await site.daemon.kill()
    else:
        await site.daemon.stop()
    raise _Ended


async def _settled(site: Site, *, since: int = 0) -> list[Violation]:
    """Every owed notice arrives; what was seen of a run is what is said of it now."""
    with anyio.move_on_after(DELIVERY_S):
        while site.daemon.owed:  # noqa: ASYNC110
            await anyio.sleep(0.02)
    if site.daemon.owed:
        return [Violation(f"{site.daemon.owed} notices were still owed after {DELIVERY_S} s")]
    found = []
    async with owner_of(site.daemon) as owner:
        last = {call.session_id: call for call in site.work.calls if call.session_id}
        for call in last.values():
            if call.number < since or call.answer != "well":
                continue
            result = await owner.tool("status", name=call.name)
            view: dict[str, Any] = dict(result.structured_content or {})
            seen = call.view
            if seen is not None and view.get("stop_reason") != seen["stop_reason"]:
                what = f"seen as {seen['stop_reason']}, now {view.get('stop_reason')}"
                found.append(Violation(f"wrong ending: {what}", call))
            if view.get("session_id") == call.session_id:
                call.view = view
    return found


def _again(site: Site, name: str) -> Call:
    random = Random(site.random.random())
    plan = finishing(random, site.work.token(len(site.work.calls)))
    # long enough that its command line can be read
    plan = replace(plan, turns=(({"sleep": 0.3}, *plan.turns[0]),))
    call = site.work.new("continue", name, random, plan)
    call.resumable = False
    return call


def _flags(pid: int) -> tuple[str, ...]:
    """What claude is held to; nothing for a process that is gone."""
    try:
        arguments = Path("/proc", str(pid), "cmdline").read_bytes().decode().split("\0")
    except OSError:
        return ()
    return tuple(each for each in arguments if each.startswith(_FLAGS))
