"""Who has left the leaf of its run: everything in the unit that is in no open leaf.

A run has the daemon's user, and that owns the unit's subtree: it may move itself to any place in
it, into the daemon's own leaf or a cgroup that it makes. Whatever is found there can only have
moved there, save for the daemon, what is above it, what shares its session (every run is given
one of its own, and no way leads back), what systemd runs beside it, and launchers that have not
entered their leaf yet. What is known to be another open run's is left to the end of that run.
"""

from __future__ import annotations

import contextlib
import errno
import logging
from collections.abc import Iterable, Iterator

from hive_subagent.containment import proc
from hive_subagent.containment.cgroup_delegation import SUPERVISOR
from hive_subagent.containment.cgroupfs import Cgroup
from hive_subagent.containment.ownership import Entry, Ownership
from hive_subagent.containment.proc import Process
from hive_subagent.containment.run_cgroups import RunCgroups
from hive_subagent.models.session import ProcessInfo

logger = logging.getLogger(__name__)

_CONTROL = ".control"  # where systemd runs ExecReload and the like
_TOLD = 10  # processes named in one line of the log


class Escapees:
    """The places of a unit that are no open run's, and who is in them without being entitled to."""

    def __init__(self, leaves: RunCgroups, roll: Ownership) -> None:
        self._leaves = leaves
        self._roll = roll
        self._places: dict[tuple[int, int], Cgroup] = {}
        self._given_up: set[tuple[int, int]] = set()

    def foreign(self) -> list[Cgroup]:
        """The cgroups that nobody here has made, or that are left over. Raises OSError."""
        unit = self._leaves.unit
        known = {SUPERVISOR, _CONTROL}
        others = [
            group
            for group in unit.children()
            if group.path.name not in known and not self._leaves.is_open(group)
        ]
        return others + unit.child(SUPERVISOR).children()

    def strangers(self, *, but: Entry | None = None) -> list[Process]:
        """Who is to be ended; told in the log once. `but`: the run whose processes go, too.

        Raises OSError: cannot look.
        """
        above = self._above()
        found = {}
        for place, process in self._inhabitants():
            if process.key not in self._given_up and self._is_stranger(process, but, above):
                found[process.key] = (place, process)
        self._tell([each for key, each in found.items() if key not in self._places])
        self._places = {key: place for key, (place, _) in found.items()}
        return [process for _, process in found.values()]

    def strike(self) -> None:
        """Kill foreign cgroups as a whole, so that no fork slips through."""
        with contextlib.suppress(OSError):  # who cannot look here cannot look for strangers either
            for group in self.foreign():
                inside = {process.key for process in self._alive(group.pids())}
                if inside and inside <= self._places.keys():
                    group.kill()

    def give_up(self, survivors: Iterable[ProcessInfo]) -> None:
        """Do not let every end after this one wait for what would not die."""
        pids = {info.pid for info in survivors}
        self._given_up |= {key for key in self._places if key[0] in pids}

    async def tidy(self) -> None:
        """Remove the foreign cgroups in which nobody lives."""
        try:
            for group in self.foreign():
                if not self._alive(group.pids()):
                    await self._leaves.emptied(group, timeout_s=1.0)
                    self._leaves.remove(group)
        except OSError as error:
            logger.warning("cgroup %s: cannot be tidied: %s", self._leaves.unit.path, error)

    def _inhabitants(self) -> Iterator[tuple[Cgroup, Process]]:
        unit = self._leaves.unit
        service, control = unit.child(SUPERVISOR), unit.child(_CONTROL)
        for place in (unit, service):
            yield from ((place, process) for process in self._alive(place.own_pids()))
        for place in self.foreign():
            yield from ((place, process) for process in self._alive(self._in_foreign(place)))
        for process in self._alive(control.pids()):
            # what systemd starts is no descendant of ours; what we adopt is
            if self._is_below_us(process):
                yield control, process

    def _in_foreign(self, place: Cgroup) -> list[int]:
        try:
            return place.pids()
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                logger.warning("%s: too deep to look into, so all in it is killed", place.path)
                place.kill()
            raise

    def _alive(self, pids: Iterable[int]) -> list[Process]:
        found = (proc.look(pid) for pid in pids)
        return [process for process in found if process is not None and process.alive]

    def _is_stranger(self, process: Process, but: Entry | None, above: set[int]) -> bool:
        own = self._roll.own
        if process.session == own.session or process.pid in above:
            return False
        entry = self._roll.runs.get(self._roll.owner_of(process) or "")
        if entry is not None and entry is not but and not entry.ended:
            return False
        if entry is None and process.parent == own.pid and self._roll.is_launching():
            # between fork and exec it carries nothing that tells a launcher from an orphan
            raise OSError(errno.EAGAIN, "a run is being started just now")
        return True

    def _above(self) -> set[int]:
        return {self._roll.own.pid, *_line_of(self._roll.own.pid)}

    def _is_below_us(self, process: Process) -> bool:
        return self._roll.own.pid in _line_of(process.pid)

    def _tell(self, moved: list[tuple[Cgroup, Process]]) -> None:
        if not moved:
            return
        named = [
            f"{process.pid} ({proc.describe(process).command[: proc.COMMAND_SHOWN]})"
            f" in {place.path}"
            for place, process in moved[:_TOLD]
        ]
        if len(moved) > _TOLD:
            named.append(f"and {len(moved) - _TOLD} more")
        logger.warning("outside the cgroups of all runs, so ended: %s", ", ".join(named))


def _line_of(pid: int) -> list[int]:
    """The pids above a process, nearest first."""
    line: list[int] = []
    while (process := proc.look(pid)) is not None and process.parent not in (0, *line):
        pid = process.parent
        line.append(pid)
    return line
