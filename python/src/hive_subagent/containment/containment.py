"""All runs of one daemon, in the form that the machine allows; what they start ends with them."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping, Sequence

from hive_subagent.containment import proc, run_cgroups, termination
from hive_subagent.containment.cgroup import CgroupEnclosure
from hive_subagent.containment.interface import Enclosure, Kind, ProcessInfo
from hive_subagent.containment.marker import MarkReader
from hive_subagent.containment.ownership import LEFTOVER, STRAY, Entry, Ownership
from hive_subagent.containment.proc import Process
from hive_subagent.containment.process_session import (
    SessionEnclosure,
    Shared,
    report_incomplete,
)
from hive_subagent.containment.run_cgroups import Hierarchy, RunCgroups
from hive_subagent.containment.scanner import Reaper, Scanner, become_subreaper
from hive_subagent.containment.termination import extinguish
from hive_subagent.errors import ConfigurationError, Refused

logger = logging.getLogger(__name__)


class Containment:
    """All runs of one daemon. Made by `create`; `start` and `stop` bind it to a running loop."""

    def __init__(
        self,
        *,
        ownership: Ownership,
        marks: MarkReader,
        leaves: RunCgroups | None,
        reason: str,
        memory_max: int | None,
        bound_s: float,
    ) -> None:
        self.reason = reason
        self._ownership = ownership
        self._scanner = Scanner(ownership, marks, on_reaped=self._reaped)
        self._shared = Shared(ownership, self._scanner, bound_s, self._closed)
        self._reaper = Reaper(self._scanner.reap_adopted)
        self._leaves = leaves
        self._memory_max = memory_max
        self._bound_s = bound_s
        self._open: dict[str, SessionEnclosure] = {}
        self._work: set[asyncio.Task[list[ProcessInfo]]] = set()  # the loop holds tasks weakly

    @classmethod
    def create(
        cls,
        *,
        identity: str,
        memory_max: int | None = None,
        pids_max: int = 4096,
        claim_strays: bool = False,
        bound_s: float = 5.0,
        hierarchy: Hierarchy | None = None,
    ) -> Containment:
        """Look at the machine and choose the form; makes this process a subreaper.

        `identity`: a stable random id of `state_dir`, without a colon; whatever carries it is
        this daemon's to end. `memory_max`, `pids_max`: the limits of each run where there are
        cgroups, bytes and processes. `claim_strays`: for a process that starts nothing but runs in
        sessions of their own. Orphans without any mark that it adopts are a run's, too, unless
        this process is PID 1 or had children before: then they can be anybody's, and they are
        reaped and never ended. `bound_s`:
        seconds after which an ending gives up on what does not die. `hierarchy`: where cgroup v2
        is, found by itself when None.

        Raises ConfigurationError: a memory limit without a cgroup that can hold it, no /proc, a
        kernel that is too old.
        """
        if not identity or any(c in identity for c in ":\0="):
            raise ValueError(f"not an identity: {identity!r}")
        own = proc.look(os.getpid())
        if own is None:
            raise ConfigurationError(
                "/proc: not mounted; mount proc there, runs are found by it", path="/proc"
            )
        termination.check_kernel()
        found = run_cgroups.find(hierarchy or Hierarchy())
        leaves = None if isinstance(found, str) else RunCgroups(found, pids_max=pids_max)
        reason = found if isinstance(found, str) else f"delegated: {found.unit.path}"
        if memory_max is not None and (leaves is None or not leaves.limits_memory):
            why = reason if leaves is None else f"{reason}, but without the memory controller"
            raise ConfigurationError(
                f"setting memory_max: no cgroup can hold it ({why});"
                " run as a systemd unit with Delegate=yes, or leave it out",
                name="memory_max",
            )
        try:
            become_subreaper()
        except OSError as error:
            raise ConfigurationError(
                f"prctl(PR_SET_CHILD_SUBREAPER): {error.strerror}; allow it where a seccomp filter"
                " is set: without it processes that lose their parent are lost"
            ) from None
        marks = MarkReader(user=os.geteuid())
        since = int(time.clock_gettime(time.CLOCK_BOOTTIME) * proc.TICKS_PER_SECOND)
        others = _below_already(own.pid) if claim_strays else ""
        if others:
            logger.warning(
                "%s, so what this process adopts may be anybody's: without a mark of a run it is"
                " reaped and never ended; in a container use --init",
                others,
            )
        ownership = Ownership(
            identity,
            own=own,
            read_marks=marks,
            claim_strays_since=since if claim_strays and not others else None,
            only_runs_below=not others,
            reap_strays=claim_strays,
        )
        made = cls(
            ownership=ownership,
            marks=marks,
            leaves=leaves,
            reason=reason,
            memory_max=memory_max,
            bound_s=bound_s,
        )
        logger.info("containment by %s (%s)", made.kind, reason)
        return made

    @property
    def kind(self) -> Kind:
        return "session" if self._leaves is None else "cgroup"

    @property
    def controllers(self) -> frozenset[str]:
        """What the cgroup of a run can limit; nothing where it has none."""
        return frozenset() if self._leaves is None else self._leaves.controllers

    def left_memory(self) -> int | None:
        """Bytes of shared memory that belong to no living run; None where that is not known."""
        return None if self._leaves is None else self._leaves.left_memory()

    @property
    def reaper_progress(self) -> float:
        """Monotonic seconds of the reaper's last pass; it comes at least every five seconds."""
        return self._reaper.progress

    def start(self) -> None:
        """Reap what this process adopts, from now on, on the running loop."""
        self._reaper.start()

    async def stop(self) -> None:
        """Stop reaping; ends nothing (`end_everything` does)."""
        await self._reaper.stop()

    def open(
        self, run_id: str, *, memory_max: int | None = None, keeps_limit: bool = False
    ) -> Enclosure:
        """An enclosure for a run that is about to be spawned.

        `run_id`: letters, digits, `.`, `_`, `-`, of no other open run (ValueError).
        `memory_max`: bytes; lower than the setting, never higher. `keeps_limit`: it was asked for
        earlier than by this call. Raises Refused for a limit that cannot be held, or a cgroup that
        cannot be made.
        """
        limit = self._limit(memory_max, keeps_limit)
        entry = self._ownership.add(run_id)
        try:
            enclosure = self._enclosure(entry, limit)
        except BaseException:
            self._ownership.remove(entry)
            raise
        self._open[run_id] = enclosure
        return enclosure

    def _enclosure(self, entry: Entry, limit: int | None) -> SessionEnclosure:
        if self._leaves is None:
            return SessionEnclosure(entry, self._shared)
        leaf = self._leaves.make(entry.run_id, memory_max=limit)
        return CgroupEnclosure(entry, self._shared, leaf=leaf, leaves=self._leaves)

    def _limit(self, asked: int | None, keeps: bool) -> int | None:
        if asked is None:
            return self._memory_max
        named = f"{asked} (which the session has from an earlier call)" if keeps else f"{asked}"
        if self._leaves is None or not self._leaves.limits_memory:
            fix = 'give `memory_max: ""`, which takes it away' if keeps else "leave it out"
            raise Refused(
                f"memory_max {named}: no cgroup can hold it ({self.reason}); {fix}", limit=asked
            )
        if self._memory_max is not None and asked > self._memory_max:
            lower = "give a lower one, or an empty one for the setting's"
            raise Refused(
                f"memory_max {named} is above the setting of {self._memory_max} bytes;"
                f" {lower if keeps else 'it may only lower it'}",
                limit=self._memory_max,
            )
        return asked

    def _closed(self, entry: Entry) -> None:
        if (mine := self._open.get(entry.run_id)) is not None and mine.entry is entry:
            del self._open[entry.run_id]
            self._ownership.remove(entry)

    def _reaped(self, owner: str, process: Process) -> None:
        if (enclosure := self._open.get(owner)) is not None:
            enclosure.reaped(process)

    async def sweep_leftovers(self) -> list[ProcessInfo]:
        """End what a predecessor with the same identity left; before the first `open`."""
        return await self._shielded(LEFTOVER)

    async def end_everything(self) -> list[ProcessInfo]:
        """End all open runs, then whatever else is this daemon's, adopted strays too."""
        unended = [each for each in self._open.values() if not each.entry.ended]
        ended = await asyncio.gather(*(each.end() for each in unended))
        rest = await self._shielded(LEFTOVER, STRAY)
        return [info for each in ended for info in each] + rest

    async def _shielded(self, *owners: str) -> list[ProcessInfo]:
        work = asyncio.create_task(self._sweep(owners), name="sweep")
        self._work.add(work)
        work.add_done_callback(self._work.discard)
        return await asyncio.shield(work)

    async def _sweep(self, owners: Sequence[str]) -> list[ProcessInfo]:
        leaves = self._leaves

        async def find() -> Sequence[Process]:
            found = (await self._scanner.fresh()).of(*owners)
            foreign = [] if leaves is None else proc.alive(leaves.foreign_pids())
            return list({process.key: process for process in [*found, *foreign]}.values())

        def strike(_: Mapping[int, Process]) -> None:
            if leaves is not None:
                leaves.kill_foreign()

        ended = await extinguish(find, find, bound_s=self._bound_s, strike=strike)
        if not ended.complete:
            report_incomplete("left over", ended, self._bound_s)
        if leaves is not None:
            await leaves.remove_foreign()
        return ended.killed


def _below_already(own: int) -> str:
    """Why not everything that hangs under this process need be a run's, in a phrase, or ""."""
    if own == 1:
        return "this is PID 1, which adopts every orphan"
    for process in proc.snapshot().values():
        if process.parent == own and process.alive:
            found = proc.describe(process)
            return f"process {found.pid} ({found.command}) was its child before it began"
    return ""
