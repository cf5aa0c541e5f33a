"""Nothing that a run starts outlives it: the daemon's side of the promise."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Sequence

from hive_subagent.containment import proc
from hive_subagent.containment.ending import Find, extinguish
from hive_subagent.containment.interface import Enclosure, Kind
from hive_subagent.containment.marker import MarkReader
from hive_subagent.containment.proc import Process
from hive_subagent.containment.reaper import Reaper, become_subreaper
from hive_subagent.containment.roll import LEFTOVER, STRAY, Entry, Roll
from hive_subagent.containment.scanner import Scanner
from hive_subagent.containment.session import SessionEnclosure
from hive_subagent.errors import ConfigurationError
from hive_subagent.models import ProcessInfo

logger = logging.getLogger(__name__)


class Containment:
    """All runs of one daemon. Made by `create`; `start` and `stop` bind it to a running loop."""

    def __init__(self, *, roll: Roll, marks: MarkReader, bound_s: float) -> None:
        self._roll = roll
        self._scanner = Scanner(roll, marks, on_reaped=self._reaped)
        self._bound_s = bound_s
        self._reaper = Reaper(self._scanner.reap_adopted)
        self._open: dict[str, SessionEnclosure] = {}
        self._work: set[asyncio.Task[list[ProcessInfo]]] = set()  # the loop holds tasks weakly

    @classmethod
    def create(
        cls,
        *,
        identity: str,
        memory_max: int | None = None,
        claim_strays: bool = False,
        bound_s: float = 5.0,
    ) -> Containment:
        """Look at the machine and choose the form; makes this process a subreaper.

        `identity`: a stable random id of `state_dir`, one word without a colon; whatever carries
        it is this daemon's to end. `memory_max`: the limit per run in bytes, where one is set.
        `claim_strays`: orphans without any mark are runs', too; only for a process that starts
        nothing but runs in sessions of their own. `bound_s`: seconds after which an ending gives
        up on what does not die.

        Raises ConfigurationError: a limit without a delegated cgroup, or no /proc.
        """
        if not identity or any(c in identity for c in ":\0="):
            raise ValueError(f"not an identity: {identity!r}")
        own = proc.look(os.getpid())
        if own is None:
            raise ConfigurationError("/proc: not mounted; mount proc there, runs are found by it")
        if memory_max is not None:
            raise ConfigurationError(
                "setting memory_max: there is no delegated cgroup to hold it;"
                " run under systemd with Delegate=yes, or leave it out"
            )
        become_subreaper()
        marks = MarkReader(user=os.geteuid())
        since = int(time.clock_gettime(time.CLOCK_BOOTTIME) * proc.TICKS_PER_SECOND)
        roll = Roll(
            identity,
            own=own,
            read_marks=marks,
            claim_strays_since=since if claim_strays else None,
        )
        return cls(roll=roll, marks=marks, bound_s=bound_s)

    @property
    def kind(self) -> Kind:
        return "session"

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

    def open(self, run_id: str, *, memory_max: int | None = None) -> Enclosure:
        """An enclosure for a run that is about to be spawned.

        `run_id`: without a colon, of no other open run (ValueError). `memory_max` in bytes.
        """
        if memory_max is not None:
            raise ConfigurationError(
                f"memory_max of {run_id}: there is no delegated cgroup to hold it; leave it out"
            )
        enclosure = SessionEnclosure(
            self._roll.add(run_id),
            roll=self._roll,
            scanner=self._scanner,
            bound_s=self._bound_s,
            on_closed=self._closed,
        )
        self._open[run_id] = enclosure
        return enclosure

    def _closed(self, entry: Entry) -> None:
        if (mine := self._open.get(entry.run_id)) is not None and mine.entry is entry:
            del self._open[entry.run_id]
            self._roll.remove(entry)

    def _reaped(self, owner: str, process: Process) -> None:
        if (enclosure := self._open.get(owner)) is not None:
            enclosure.reaped(process)

    async def sweep_leftovers(self) -> list[ProcessInfo]:
        """End what a predecessor with the same identity left; before the first `open`."""
        return await self._extinguish(LEFTOVER)

    async def end_everything(self) -> list[ProcessInfo]:
        """End all open runs, then whatever else is this daemon's, adopted strays too."""
        unended = [each for each in self._open.values() if not each.entry.ended]
        ended = await asyncio.gather(*(each.end() for each in unended))
        rest = await self._extinguish(LEFTOVER, STRAY)
        return [info for each in ended for info in each] + rest

    async def _extinguish(self, *owners: str) -> list[ProcessInfo]:
        async def find() -> Sequence[Process]:
            return (await self._scanner.fresh()).of(*owners)

        work = asyncio.create_task(self._end(find))
        self._work.add(work)
        work.add_done_callback(self._work.discard)
        return await asyncio.shield(work)

    async def _end(self, find: Find) -> list[ProcessInfo]:
        ended = await extinguish(find, find, bound_s=self._bound_s)
        if ended.survivors:
            logger.warning(
                "not dead after %g s: %s",
                self._bound_s,
                ", ".join(f"{p.pid} ({p.command})" for p in ended.survivors),
            )
        return ended.killed
