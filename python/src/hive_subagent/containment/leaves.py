"""The leaves of runs below a delegated unit: made with their limits, emptied, removed."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from hive_subagent.containment.cgroupfs import Cgroup
from hive_subagent.containment.delegation import Delegation
from hive_subagent.errors import Refused
from hive_subagent.inotify import Watches

logger = logging.getLogger(__name__)

RUN_PREFIX = "run-"


class Leaves:
    """All leaves of one daemon."""

    def __init__(self, delegation: Delegation, *, pids_max: int) -> None:
        self.unit = delegation.unit
        self.limits_memory = "memory" in delegation.controllers
        self.watches = Watches()
        self._pids_max = pids_max
        self._open: set[Path] = set()

    def make(self, run_id: str, *, memory_max: int | None) -> Cgroup:
        """A leaf with its limits set. Raises Refused, leaving nothing."""
        leaf = self.unit.child(RUN_PREFIX + run_id)
        try:
            leaf.make()
        except OSError as error:
            raise Refused(f"cgroup {leaf.path}: cannot be made: {error.strerror}") from None
        try:
            if memory_max is not None:
                leaf.write("memory.max", str(memory_max))
                leaf.set_if_there("memory.swap.max", "0")
            # the kernel takes the largest process, usually a tool, and claude goes on to tell it
            leaf.set_if_there("memory.oom.group", "0")
            leaf.set_if_there("pids.max", str(self._most_pids()))
        except OSError as error:
            self.remove(leaf)
            raise Refused(f"cgroup {leaf.path}: limits not taken: {error.strerror}") from None
        self._open.add(leaf.path)
        return leaf

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
        self._open.discard(leaf.path)
        try:
            if not leaf.remove():
                logger.warning("cgroup %s: not empty yet; kept for the next sweep", leaf.path)
        except OSError as error:
            logger.warning("cgroup %s: cannot be removed: %s", leaf.path, error.strerror)
