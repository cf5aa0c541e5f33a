"""The leaves of runs below a delegated unit: made with their limits, emptied, removed."""

from __future__ import annotations

import asyncio
import errno
import logging
from pathlib import Path

from hive_subagent.containment import cgroup_delegation
from hive_subagent.containment.cgroup_delegation import Delegation
from hive_subagent.containment.cgroupfs import Cgroup
from hive_subagent.errors import Refused
from hive_subagent.system.inotify import Watches

logger = logging.getLogger(__name__)

RUN_PREFIX = "run-"

LEFT_WORTH_TELLING = 64 << 20
"""Bytes of memory without a living run from which on the log tells of it."""


class RunCgroups:
    """All leaves of one daemon."""

    def __init__(self, delegated: Delegation, *, pids_max: int) -> None:
        self.unit = delegated.unit
        self.controllers = delegated.controllers
        self.limits_memory = "memory" in delegated.controllers
        self.watches = Watches()
        self._pids_max = pids_max
        self._open: dict[Path, int | None] = {}
        self._left_told = 0

    def make(self, run_id: str, *, memory_max: int | None) -> Cgroup:
        """A leaf with its limits set. Raises Refused, leaving nothing."""
        self._enable_again(needed=memory_max is not None)
        leaf = self.unit.child(RUN_PREFIX + run_id)
        try:
            leaf.make()
        except OSError as error:
            raise Refused(f"cgroup {leaf.path}: cannot be made: {error.strerror}") from None
        try:
            self._limit(leaf, memory_max)
        except OSError as error:
            self.remove(leaf)
            raise Refused(f"cgroup {leaf.path}: limits not taken: {error.strerror}") from None
        self._open[leaf.path] = memory_max
        return leaf

    def _limit(self, leaf: Cgroup, memory_max: int | None) -> None:
        if memory_max is not None:
            leaf.write("memory.max", str(memory_max))
            leaf.set_if_there("memory.swap.max", "0")
        # the kernel takes the largest process, usually a tool, and claude goes on to tell it
        leaf.set_if_there("memory.oom.group", "0")
        leaf.set_if_there("pids.max", str(self._most_pids()))

    def _enable_again(self, *, needed: bool) -> None:
        """A run may have switched the unit's controllers off, and with them all limits."""
        on = set((self.unit.read("cgroup.subtree_control") or "").split())
        if self.controllers <= on:
            return
        off = ", ".join(sorted(self.controllers - on))
        try:
            if not self.controllers <= cgroup_delegation.enable(self.unit):
                raise OSError(errno.ENODEV, "taken from the unit")
        except OSError as error:
            told = f"{self.unit.path}: {off} cannot be switched on again ({error.strerror})"
            logger.error("cgroup %s: no limit holds", told)
            if needed:
                raise Refused(
                    f"memory_max: no cgroup can hold it: {told}, after a subagent has changed the"
                    " unit's cgroups; call again when that one has ended, or restart the unit"
                ) from None
            return
        logger.error(
            "cgroup %s: somebody, a subagent most likely, had switched %s off; no limit held until"
            " now, all are set again",
            self.unit.path,
            off,
        )
        for path, memory_max in self._open.items():
            leaf = Cgroup(path, self.unit.directories)
            try:
                self._limit(leaf, memory_max)
            except OSError as error:
                logger.error("cgroup %s: limits not taken: %s", path, error.strerror)

    def left_memory(self) -> int | None:
        """Bytes of shared memory that the unit holds and no living run, nor the daemon.

        Files in /dev/shm stay charged to the unit when the run that wrote them has ended, and the
        next run that needs the room is killed for it. None where the kernel does not say.
        """
        try:
            whole = self.unit.keyed("memory.stat").get("shmem")
            parts = [child.keyed("memory.stat").get("shmem", 0) for child in self.unit.children()]
        except OSError:
            return None
        return None if whole is None else max(0, whole - sum(parts))

    def tell_left_memory(self) -> None:
        """Tell the log once, and again when it has doubled."""
        left = self.left_memory() or 0
        if left < LEFT_WORTH_TELLING:
            self._left_told = 0
        elif left >= 2 * self._left_told:
            self._left_told = left
            logger.warning(
                "cgroup %s: %d MiB of shared memory belong to no living run: ended runs left files"
                " in /dev/shm or other tmpfs; remove those that nobody needs",
                self.unit.path,
                left >> 20,
            )

    def is_open(self, leaf: Cgroup) -> bool:
        """Whether it was made here and has not been removed since."""
        return leaf.path in self._open

    def _most_pids(self) -> int:
        """One run that forks without end must leave the daemon the means to end it."""
        of_the_unit = self.unit.number("pids.max")
        return self._pids_max if of_the_unit is None else min(self._pids_max, of_the_unit // 2)

    async def emptied(self, leaf: Cgroup, *, timeout_s: float) -> bool:
        """Wait until the kernel lets go of the dead: only then can a leaf be removed."""
        changed = asyncio.Event()
        watch = self.watches.add(leaf.path / "cgroup.events", changed.set)
        try:
            async with asyncio.timeout(timeout_s):
                while leaf.populated():
                    changed.clear()
                    if watch is None:
                        await asyncio.sleep(0.01)
                    else:
                        await changed.wait()
        except TimeoutError:
            return False
        finally:
            self.watches.remove(watch)
        return True

    def remove(self, leaf: Cgroup) -> None:
        """Remove a leaf and all below it; one that is not empty waits for the next sweep."""
        self._open.pop(leaf.path, None)
        try:
            if not leaf.remove():
                logger.warning("cgroup %s: not empty yet; kept for the next sweep", leaf.path)
        except OSError as error:
            logger.warning("cgroup %s: cannot be removed: %s", leaf.path, error.strerror)
