"""What a run's driver sees of its containment, whichever form it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["cgroup", "session"]
"""How a run is kept together: in a cgroup of its own, or by its process session and its marks."""

OomScope = Literal["run", "service", "machine"]
"""Whose memory limit a process died at."""


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A process as people see it: its command line by spaces, cut."""

    pid: int
    command: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources that a run has used, and whether it moves.

    None where unknown. `cpu_s` only ever grows; in the session form it is a lower bound, since
    the time of a process that came and went unseen is lost. `running` counts the processes that
    have or want a CPU or a disk now, `stopped` those that a signal or a debugger holds, `sleeping`
    the other living ones.

    `memory_max_bytes` is the limit that holds, `memory_max_lost` the one that was set and does not.

    `oom_kills` counts the run's processes that the kernel killed for memory, `oom_survived`
    those of them that the root outlived, by a second at least. So a root that died of a SIGKILL
    nobody here sent was killed for memory if, and only if, the first is the greater one.
    `oom_scope` says at which limit the last of them died.

    `pids_max` is the limit of processes and threads, `pids_refused` how often the kernel refused
    one at it. `frozen` says that the run's cgroup is frozen: nothing in it runs until it is thawed.
    `left_memory_bytes` is what the unit holds that belongs to no living run, such as files in
    /dev/shm that ended runs left.
    """

    cpu_s: float | None
    running: int
    sleeping: int
    stopped: int = 0
    peak_memory_bytes: int | None = None
    memory_max_bytes: int | None = None
    memory_max_lost: int | None = None
    oom_kills: int | None = None
    oom_survived: int | None = None
    oom_scope: OomScope | None = None
    pids_max: int | None = None
    pids_refused: int | None = None
    frozen: bool = False
    left_memory_bytes: int | None = None


class Enclosure(Protocol):
    """Everything that one run starts, from its root process down."""

    @property
    def kind(self) -> Kind: ...

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables to be added to the child's environment: the run's marker, no secret."""

    @property
    def remains(self) -> str:
        """What the last `end` does not know to be dead, in a phrase; empty where all of it is."""

    def launcher(self, argv: Sequence[str]) -> list[str]:
        """What to execute so that the process is inside before `argv` runs; same pid.

        A program that is not found becomes exit 127 of this, not an error of the spawn; one
        that cannot be executed 126; 125 with one line on stderr when the run cannot be entered.
        """

    def adopt(self, pid: int) -> None:
        """Name the root: a child of this process that its spawner has not yet waited for.

        It was spawned with `start_new_session=True`; its spawner waits for it, nobody else does.
        """

    def processes(self) -> list[ProcessInfo]:
        """What is alive now, the root first. Raises OSError: cannot look."""

    async def end(self) -> list[ProcessInfo]:
        """Kill all of it; returns what was killed, once nothing is alive.

        May be called again and by several at once. Bounded: what does not die in time, and what
        cannot be looked at, is named by `remains`. A caller that is cancelled does not stop it.
        """

    def usage(self) -> Usage:
        """The figures of now; after `end` the last ones."""

    def close(self) -> None:
        """Release what the kernel and this process hold for the run. May be called again."""
