"""A tree of plain files in the shape of cgroup v2, where there is no kernel to keep one."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hive_subagent.containment import Containment
from hive_subagent.containment.cgroupfs import Directories
from hive_subagent.containment.run_cgroups import Hierarchy

FILES = {
    "cgroup.controllers": "cpu memory pids\n",
    "cgroup.events": "populated 0\nfrozen 0\n",
    "cgroup.procs": "",
    "cgroup.subtree_control": "cpu memory pids\n",
    "cpu.weight": "100\n",
    "io.weight": "default 100\n",
    "cpu.stat": "usage_usec 0\nuser_usec 0\nsystem_usec 0\n",
    "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
    "memory.events.local": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
    "memory.max": "max\n",
    "memory.min": "0\n",
    "memory.oom.group": "1\n",
    "memory.peak": "0\n",
    "memory.stat": "anon 0\nshmem 0\n",
    "memory.swap.max": "max\n",
    "pids.events": "max 0\n",
    "pids.max": "max\n",
}


class PlainDirectories(Directories):
    """Makes the files that the kernel would, and removes a directory whatever it holds."""

    def make(self, path: Path) -> None:
        path.mkdir()
        for name, text in FILES.items():
            (path / name).write_text(text)

    def remove(self, path: Path) -> None:
        shutil.rmtree(path)


def plain_unit(root: Path, *, subgroup: str = "supervisor") -> tuple[Hierarchy, Path]:
    """A hierarchy below `root` in which this process sits in a unit's subgroup; and the unit."""
    directories = PlainDirectories()
    unit = root / "our.service"
    directories.make(unit)
    own = "/our.service"
    if subgroup:
        directories.make(unit / subgroup)
        own += "/" + subgroup
    return Hierarchy(root=root, own=own, directories=directories), unit


def set_events(cgroup: Path, name: str = "memory.events", **counts: int) -> None:
    """Rewrite an events file, as the kernel does after something has happened."""
    (cgroup / name).write_text("".join(f"{key} {value}\n" for key, value in counts.items()))


@asynccontextmanager
async def plain_containment(
    place: Path, identity: str, *, bound_s: float = 5.0, memory_max: int | None = None
) -> AsyncIterator[Containment]:
    """A containment in a unit of plain files below `place`; everything in it is ended."""
    hierarchy, _ = plain_unit(place)
    made = Containment.create(
        identity=identity, hierarchy=hierarchy, memory_max=memory_max, bound_s=bound_s
    )
    made.start()
    yield made
    await made.end_everything()
    await made.stop()
