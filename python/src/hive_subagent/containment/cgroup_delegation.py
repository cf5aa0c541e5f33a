"""Whether this process has a cgroup v2 subtree of its own to keep runs in.

Writable is not enough: root may write everywhere, and a desktop user into the scopes of a
manager that did not hand them over. So either the service manager has said so (the attribute
`user.delegate`), or it has put this process into the subgroup `supervisor`
(`DelegateSubgroup=supervisor`), which it does for a delegated unit only.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from hive_subagent.containment.cgroupfs import Cgroup, Directories

SUPERVISOR = "supervisor"

_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
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
        controllers = frozenset(enable(unit))
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


def enable(unit: Cgroup) -> set[str]:
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
