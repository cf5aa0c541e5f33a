"""The cgroups of runs below a delegated unit: whether there is one, and one leaf for each run.

Writable is not enough for a unit: root may write everywhere, and a desktop user into the scopes of
a manager that did not hand them over. So either the service manager has said so (the attribute
`user.delegate`), or it has put this process into the subgroup `supervisor`
(`DelegateSubgroup=supervisor`), which it does for a delegated unit only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from dataclasses import dataclass, field
from pathlib import Path

from hive_subagent.containment.cgroupfs import Cgroup, Directories
from hive_subagent.errors import Refused
from hive_subagent.system.inotify import Watches

logger = logging.getLogger(__name__)

SUPERVISOR = "supervisor"
RUN_PREFIX = "run-"

LEFT_WORTH_REPORTING = 64 << 20
"""Bytes of memory without a living run from which on the log reports it."""

_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_CONTROL = ".control"  # where systemd runs ExecReload and the like
_WANTED = ("memory", "pids")
# shares of the processor and, where the kernel has it, of the disk: each run gets the same, however
# many processes it has
_FAIR = ("cpu", "io")
# the most there is. The daemon needs little, and needs it at once: it pets the watchdog, and ends
# runs that take all they get. Beside 24 runs that begin an equal share was too little (measured)
_WEIGHT = 10_000
_KEPT = 96 << 20  # bytes; a daemon that serves has about 60 MB, its program's files included


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Where cgroup v2 is mounted and where this process is in it; both found when None."""

    root: Path | None = None
    own: str | None = None
    directories: Directories = field(default_factory=Directories)


@dataclass(frozen=True, slots=True)
class Delegation:
    """A subtree to keep runs in: `unit` holds this process's leaf and one leaf per run."""

    unit: Cgroup
    controllers: frozenset[str]


def find(hierarchy: Hierarchy) -> Delegation | str:
    """The subtree, its controllers enabled; or in one phrase why there is none."""
    root = hierarchy.root or _mounted()
    own = hierarchy.own if hierarchy.own is not None else _own_cgroup()
    if root is None or own is None:
        return "cgroup v2 is not mounted"
    if ".." in Path(own).parts:
        return "the own cgroup lies outside the cgroup namespace"
    here = Cgroup(root / own.lstrip("/"), hierarchy.directories)
    if here.path.name == SUPERVISOR:
        unit = Cgroup(here.path.parent, hierarchy.directories)
    elif _handed_over(here.path):
        unit = here
    else:
        return f"the service manager has not delegated {own}"
    if not unit.writable():
        return f"{unit.path} is not writable"
    try:
        if unit is here:
            if others := [pid for pid in here.pids() if pid != os.getpid()]:
                return f"{own} holds other processes too ({others[0]})"
            _move_down(unit)
        controllers = frozenset(_enable(unit))
        _keep_memory(unit)
        _go_first(unit)
        return Delegation(unit, controllers)
    except OSError as error:
        return f"{unit.path}: {error.strerror}"


def _mounted() -> Path | None:
    roots = (Path(mount) for mount in _MOUNTS)
    return next((root for root in roots if (root / "cgroup.controllers").exists()), None)


def _own_cgroup() -> str | None:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    return next((line[3:] for line in lines if line.startswith("0::")), None)


def _handed_over(path: Path) -> bool:
    try:
        return os.getxattr(path, "user.delegate") == b"1"
    except OSError:
        return False


def _move_down(unit: Cgroup) -> None:
    # a cgroup with processes of its own cannot hand controllers to its children
    leaf = unit.child(SUPERVISOR)
    with contextlib.suppress(FileExistsError):
        leaf.make()
    leaf.write("cgroup.procs", str(os.getpid()))


def _keep_memory(unit: Cgroup) -> None:
    """Protect this process at the limit of the whole unit, where the kernel lets us.

    Runs that fill the unit take the pages of the daemon's own program first, and it crawls from
    disk instead of ending them; protected, the kernel kills one of them.
    """
    limit = unit.number("memory.max")
    kept = _KEPT if limit is None else min(_KEPT, limit // 4)
    with contextlib.suppress(OSError):
        unit.child(SUPERVISOR).write("memory.min", str(kept))


def _go_first(unit: Cgroup) -> None:
    """Let this process have the processor and the disk before any run, where the kernel can."""
    for name in ("cpu.weight", "io.weight"):
        with contextlib.suppress(OSError):
            unit.child(SUPERVISOR).set_if_there(name, str(_WEIGHT))


def _enable(unit: Cgroup) -> set[str]:
    """Turn on what runs need as far as it is there; returns what is on. Raises OSError."""
    there, on = unit.controllers(), set((unit.read("cgroup.subtree_control") or "").split())
    for fair in _FAIR:
        if fair in there - on:
            # real-time processes of the unit, which the kernel will not have there, do not matter
            with contextlib.suppress(OSError):
                unit.write("cgroup.subtree_control", f"+{fair}")
    wanted = there.intersection(_WANTED)
    if missing := wanted - on:
        unit.write("cgroup.subtree_control", " ".join(f"+{name}" for name in sorted(missing)))
    return wanted


class RunCgroups:
    """All leaves of one daemon."""

    def __init__(self, delegated: Delegation, *, pids_max: int) -> None:
        self.unit = delegated.unit
        self.limits_memory = "memory" in delegated.controllers
        self.controllers = delegated.controllers
        self.watches = Watches()
        self._pids_max = pids_max
        self._open: set[Path] = set()
        self._left_reported = 0

    def make(self, run_id: str, *, memory_max: int | None) -> Cgroup:
        """A leaf with its limits set. Raises Refused, leaving nothing."""
        leaf = self.unit.child(RUN_PREFIX + run_id)
        which = f"cgroup {leaf.path}"
        try:
            leaf.make()
        except OSError as error:
            raise Refused(
                f"{which}: cannot be made: {error.strerror}", kind="failed", path=leaf.path
            ) from None
        off = self._switched_off()
        try:
            if memory_max is not None:
                leaf.write("memory.max", str(memory_max))
                leaf.set_if_there("memory.swap.max", "0")
            # the kernel takes the largest process, usually a tool, and claude goes on to report it
            leaf.set_if_there("memory.oom.group", "0")
            leaf.set_if_there("pids.max", str(self._most_pids()))
        except OSError as error:
            self.remove(leaf)
            raise Refused(
                f"{which}: limits not taken: {error.strerror}{off and f'; {off}'}",
                kind="failed",
                path=leaf.path,
                limit=memory_max,
            ) from None
        if off:
            logger.error("cgroup %s: limits are missing: %s", leaf.path, off)
        self._open.add(leaf.path)
        return leaf

    def _switched_off(self) -> str:
        """Which controllers a run has switched off, and what to do; empty where none is."""
        on = (self.unit.read("cgroup.subtree_control") or "").split()
        off = ", ".join(sorted(self.controllers.difference(on)))
        said = f"a subagent, most likely, has switched off {off} for all; restart the service"
        return said if off else ""

    def _most_pids(self) -> int:
        """One run that forks without end must leave the daemon the means to end it."""
        of_the_unit = self.unit.number("pids.max")
        return self._pids_max if of_the_unit is None else min(self._pids_max, of_the_unit // 2)

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

    def report_left_memory(self) -> None:
        """Log it once, and again when it has doubled."""
        left = self.left_memory() or 0
        if left < LEFT_WORTH_REPORTING:
            self._left_reported = 0
        elif left >= 2 * self._left_reported:
            self._left_reported = left
            logger.warning(
                "cgroup %s: %d MiB of shared memory belong to no living run: ended runs left files"
                " in /dev/shm or other tmpfs; remove those that nobody needs",
                self.unit.path,
                left >> 20,
            )

    def foreign(self) -> list[Cgroup]:
        """The cgroups of the unit that are no open run's. Raises OSError: cannot look.

        Leaves that a crashed daemon left, and what a run made outside of its own leaf. Nothing
        in them has a right to be there.
        """
        known = {SUPERVISOR, _CONTROL}
        others = [
            group
            for group in self.unit.children()
            if group.path.name not in known and group.path not in self._open
        ]
        return others + self.unit.child(SUPERVISOR).children()

    def foreign_pids(self) -> list[int]:
        """The processes in foreign cgroups; one that cannot be looked into is killed as a whole.

        Raises OSError: cannot look.
        """
        found = []
        for group in self.foreign():
            try:
                found += group.pids()
            except OSError:
                group.kill()
                raise
        return found

    def kill_foreign(self) -> None:
        """Kill foreign cgroups as a whole, so that no fork slips through."""
        with contextlib.suppress(OSError):  # `foreign_pids` raises it
            for group in self.foreign():
                group.kill()

    async def remove_foreign(self) -> None:
        """Remove the foreign cgroups that are empty."""
        try:
            for group in self.foreign():
                if await self.emptied(group, timeout_s=1.0):
                    self.remove(group)
        except OSError as error:
            logger.warning("cgroup %s: cannot be tidied: %s", self.unit.path, error)

    async def emptied(self, leaf: Cgroup, *, timeout_s: float) -> bool:
        """Wait until the kernel has released the dead: only then can a leaf be removed."""
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
