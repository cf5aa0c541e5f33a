"""The form under a delegated cgroup v2: one leaf for each run.

Nothing leaves a leaf by forking, whatever it does to its session, its parents or its
environment. The marks are set all the same and swept for: a process that was moved elsewhere by
a service manager (a login session inside the run, say) still carries them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hive_subagent.containment import launcher, proc
from hive_subagent.containment.cgroupfs import Cgroup
from hive_subagent.containment.ending import Extinguished
from hive_subagent.containment.interface import Kind, Usage
from hive_subagent.containment.leaves import Leaves
from hive_subagent.containment.oom import OomAccount
from hive_subagent.containment.proc import Process
from hive_subagent.containment.roll import Entry, Sorted
from hive_subagent.containment.session import SessionEnclosure, Ties


class CgroupEnclosure(SessionEnclosure):
    """One run in its leaf."""

    kind: Kind = "cgroup"

    def __init__(
        self,
        entry: Entry,
        ties: Ties,
        *,
        leaf: Cgroup,
        leaves: Leaves,
        memory_max: int | None,
    ) -> None:
        super().__init__(entry, ties)
        self.leaf = leaf
        self._leaves = leaves
        self._memory_max = memory_max
        self._oom = OomAccount(leaf, leaves.unit, root_lives=self._root_lives)
        self._oom_watch = leaves.watches.add(leaf.path / "memory.events", self._oom.update)
        self._last: Usage | None = None

    def launcher(self, argv: Sequence[str]) -> list[str]:
        return launcher.cgroup(argv, stamp=self.entry.stamp, leaf=self.leaf.path)

    def _root_lives(self) -> bool:
        root = self.entry.root
        now = proc.look(root.pid) if root is not None else None
        return now is not None and root is not None and now.key == root.key and now.alive

    def _members(self, result: Sorted) -> list[Process]:
        inside = (proc.look(pid) for pid in self.leaf.pids())
        found = {p.key: p for p in super()._members(result)}
        found |= {p.key: p for p in inside if p is not None and p.alive}
        root = self.entry.root.key if self.entry.root is not None else None
        return sorted(found.values(), key=lambda p: (p.key != root, p.started, p.pid))

    def _strike(self, found: Mapping[int, Process]) -> None:
        if not self.leaf.kill():
            super()._strike(found)

    async def _extinguish(self) -> Extinguished:
        self._last = None
        ended = await super()._extinguish()
        if ended.complete:
            await self._leaves.emptied(self.leaf, timeout_s=self._bound_s)
            self._last = self.usage()
        return ended

    def usage(self) -> Usage:
        if self._last is not None:
            return self._last
        self._oom.update()
        microseconds = self.leaf.keyed("cpu.stat").get("usage_usec")
        seen = super().usage()
        return replace(
            seen,
            cpu_s=seen.cpu_s if microseconds is None else microseconds / 1_000_000,
            peak_memory_bytes=self.leaf.number("memory.peak"),
            memory_max_bytes=self._memory_max,
            oom_kills=self._oom.kills,
            oom_survived=None if self._oom.kills is None else self._oom.survived,
            oom_scope=self._oom.scope,
        )

    def close(self) -> None:
        self._leaves.watches.remove(self._oom_watch)
        self._oom_watch = None
        self._oom.close()
        self._leaves.remove(self.leaf)
        super().close()
